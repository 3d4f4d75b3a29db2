"""What is shown: patterns in visual degrees, painted in cd/m2, put on a display."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
