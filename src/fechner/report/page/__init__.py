"""One self-contained page about some runs."""

from fechner.report.page.make import make_page, write_page

__all__ = ["make_page", "write_page"]
