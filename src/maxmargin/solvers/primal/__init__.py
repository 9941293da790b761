"""Batch methods on the primal objective."""
