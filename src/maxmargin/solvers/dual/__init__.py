"""Solvers of the dual problem, for rows in memory."""
