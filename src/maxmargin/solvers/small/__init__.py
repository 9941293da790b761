"""Solvers for small problems: all steps of a run in one compiled call."""
