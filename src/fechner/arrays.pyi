import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Flags", "Floats", "Tensor", "pd", "torch", "xr"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
