"""Batch solvers for rows on disk or on a cluster: each step is one pass over all rows."""
