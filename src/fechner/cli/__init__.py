"""Saying it: one file per command, thin."""
