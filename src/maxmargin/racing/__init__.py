"""Races: several solvers timed on one problem, and the plot of their progress."""
