"""torchvision beside a CPU-only torch, before any library under test imports it."""

from fechner.observers.torchvision_fix import import_torchvision

import_torchvision()
