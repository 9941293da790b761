"""scikit-learn shells: they hold no mathematics."""
