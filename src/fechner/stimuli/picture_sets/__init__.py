"""Picture sets: pictures in classes, from a folder, a list, or Python, of any size."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
