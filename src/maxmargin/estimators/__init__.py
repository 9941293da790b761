"""scikit-learn estimators. They only call `train` and describe its result."""
