"""Steps that several solvers share."""
