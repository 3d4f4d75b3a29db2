"""Lists of trials, with their pictures, for people who are asked what observers were asked."""

from fechner.report.trial_lists.writing import export_trials

__all__ = ["export_trials"]
