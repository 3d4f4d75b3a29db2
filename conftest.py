"""Tests compute on one thread, in this process and in those it starts: quick on busy machines."""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
