"""Tables: CSV, Parquet, Arrow, block files and .npy, checked before anything is unpacked."""
