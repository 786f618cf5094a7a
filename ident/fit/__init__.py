"""Fits of one friction law: noise model, variable projection, choice of the law, intervals, information of a plan."""
