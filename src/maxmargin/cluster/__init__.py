"""Rows on the workers of a Dask cluster: the third executor of passes."""
