"""Showing it: tables, one page, figures for papers, comparisons, exports, a local server."""
