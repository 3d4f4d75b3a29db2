"""Exports: scores and raw answers as files for other programs."""
