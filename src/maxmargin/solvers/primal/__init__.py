"""Batch solvers of the primal problem: each step uses all rows."""
