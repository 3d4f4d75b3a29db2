"""Sheets of receptive fields: figures, a page and a table of fits."""

from fechner.report.fields.sheet import draw_sheets
from fechner.report.fields.table import to_csv
from fechner.report.fields.writing import SUFFIXES, check_sheet_path, make_fields_page, write_sheet

__all__ = [
    "SUFFIXES",
    "check_sheet_path",
    "draw_sheets",
    "make_fields_page",
    "to_csv",
    "write_sheet",
]
