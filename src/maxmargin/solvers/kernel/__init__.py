"""Solvers of kernel problems."""
