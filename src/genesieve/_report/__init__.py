"""The report: everything a fit found, on one page that opens anywhere."""

from genesieve._report.page import report

__all__ = ["report"]
