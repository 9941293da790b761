"""Methods on the kernel matrix."""
