"""Stochastic solvers: each step uses one example or a small batch."""
