"""Reports: one HTML page about a model, its certificate, and its errors on some rows."""
