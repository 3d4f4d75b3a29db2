"""Showing it: tables and contact sheets."""
