"""Comparing observers: differences, trends against figures from outside, and their tables."""
