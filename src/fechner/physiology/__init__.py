"""What units do: receptive fields of any unit of any layer, and how redundant responses are."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
