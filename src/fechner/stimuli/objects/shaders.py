"""What the rasteriser does at each corner and at each pixel, in the language of OpenGL.

Occlusion of the sky becomes light by the fit of Jimenez, Wu, Pesce and Jarabo (2016)
to what light that goes from surface to surface adds, for each of the three reflectances.
"""

VERTEX = """
#version 330
uniform mat3 turned;
uniform mat4 to_clip;
uniform float distance_;
in vec3 position;
in vec3 normal;
in vec2 uv;
in vec4 colour;
in vec2 sky;
out vec3 place;
out vec3 across;
out vec2 where;
out vec4 reflectance;
out vec2 open;
void main() {
    place = turned * position - vec3(0, 0, distance_);
    across = turned * normal;
    where = uv;
    reflectance = colour;
    open = sky;
    gl_Position = to_clip * vec4(place, 1);
}
"""

FRAGMENT = """
#version 330
uniform sampler2D surface;
uniform sampler2DShadow depths;
uniform mat4 to_map;
uniform vec3 to_lamp;
uniform float lamp;
in vec3 place;
in vec3 across;
in vec2 where;
in vec4 reflectance;
in vec2 open;
out vec4 light;

vec3 between_surfaces(float open, vec3 reflectance) {
    vec3 a = 2.0404 * reflectance - 0.3324;
    vec3 b = -4.7951 * reflectance + 0.6417;
    vec3 c = 2.7552 * reflectance + 0.6903;
    return max(vec3(open), ((open * a + b) * open + c) * open);
}

void main() {
    vec4 own = texture(surface, where) * reflectance;
    if (own.a < 0.004) discard;
    vec3 normal = normalize(across);
    bool front = dot(normal, place) <= 0.0;
    normal = front ? normal : -normal;
    float towards = max(dot(normal, to_lamp), 0.0);
    // A little off the surface, more where the lamp grazes it, lest it shade itself.
    vec3 off = place + normal * (0.004 + 0.012 * (1.0 - towards)) + to_lamp * 0.004;
    float seen = texture(depths, (to_map * vec4(off, 1)).xyz);
    vec3 around = between_surfaces(clamp(front ? open.x : open.y, 0.0, 1.0), own.rgb);
    light = vec4(own.rgb * ((1.0 - lamp) * around + lamp * towards * seen), own.a);
}
"""

DEPTH_VERTEX = """
#version 330
uniform mat4 seen_from;
in vec3 position;
void main() { gl_Position = seen_from * vec4(position, 1); }
"""

DEPTH_FRAGMENT = """
#version 330
void main() {}
"""
