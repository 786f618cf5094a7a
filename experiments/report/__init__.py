"""Reports: the HTML page, its figures and tables, and the words for results."""
