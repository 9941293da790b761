"""Solvers for rows streamed from disk."""
