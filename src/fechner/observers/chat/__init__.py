"""Observers that answer in words: what is sent to them, and what is made of their replies."""
