"""What all pages need: templates that escape, and pictures inside the page."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2
    import numpy as np
    from numpy.typing import NDArray


def templates(folder: str, **options: Any) -> jinja2.Environment:
    """Return the templates in a folder of this package; a name that is missing is an error."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("fechner.report", folder),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        **{"autoescape": True, **options},
    )


def as_file(pixels: NDArray[np.uint8], format: str, **options: Any) -> bytes:
    """Return pixels, [h, w, 3], as an image file."""
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(pixels).save(content, format, **options)
    return content.getvalue()


def as_uri(pixels: NDArray[np.uint8], format: str, **options: Any) -> str:
    """Return pixels, [h, w, 3], as an image inside a page."""
    content = base64.b64encode(as_file(pixels, format, **options)).decode()
    return f"data:image/{format.lower()};base64,{content}"
