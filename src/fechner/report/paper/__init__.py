"""Figures for papers: panels, charts and stimuli as matplotlib draws them for print."""
