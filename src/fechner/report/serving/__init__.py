"""A local web page: runs as they go on, reports, and stimuli to look at."""
