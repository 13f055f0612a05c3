"""The report: an HTML page that shows a verdict and the run behind it."""
