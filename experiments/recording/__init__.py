"""Recording: an arm follows a plan into a run folder; a campaign is a folder of runs."""
