"""How human: alignment, matching error, intervals, and panels that show what was scored."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
