"""How the documentation site is made: `sphinx-build -W -b html docs docs/_build`."""

import sys
from pathlib import Path

import fechner

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "fechner"
author = "The fechner developers"
copyright = author
version = release = fechner.__version__

extensions = [
    "docstrings",
    "mathml",
    "myst_parser",
    "rooms",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_ext"]

# Pages are Markdown that reads well on a code host, too.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

nitpicky = True
# Names that lead nowhere on this site: other libraries and what is private, aliases of types,
# words for types.
_ELSEWHERE = (
    r"(fechner\.report\.(comparing\.(scoring|trends)|trial_lists\.plan)|collections|concurrent"
    r"|numpy|np|pandas|pathlib|pd|torch|xarray|xr)\..*"
)
_TYPES = (
    "(Abscissa|Among|AppliesTo|Asker|ArrayLike|Ask|Axes|By|Categories|Change|Changed|Choices|ConditionPictures|Consistency|CurveSet|CurveTask|Dropout|Figure|Fit|Flags|Floats|GivenAnswers|Image|InitVar|Interview|Item|ItemTask|Light|Look"
    "|Manipulation|MeasuredCurve|NDArray|Name|Normalisation|Passed|Path|Placement|Runs|Same|Scale|Seed|Show|Source|Style|Tap|Tensor|Triple|TypeAliasForwardRef|Value|What)"
)
_WORDS = r"(array_like|float64|ndarray|optional|shape|\d|.*\".*|.* (and|to) \w+)"
nitpick_ignore_regex = [("py:.*", _ELSEWHERE), ("py:.*", rf"(.*\.)?{_TYPES}"), ("py:.*", _WORDS)]

default_role = "literal"
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "special-members": "__call__",
}
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Flags", "Floats")}
autodoc_preserve_defaults = True
napoleon_google_docstring = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"fechner {release}"
html_static_path = ["_static"]
html_css_files = ["fechner.css"]
html_show_copyright = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}
copybutton_exclude = ".linenos, .gp, .go"
