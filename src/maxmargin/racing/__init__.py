"""Several solvers on one problem, by one clock, and the picture of it."""
