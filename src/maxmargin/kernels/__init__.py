"""Kernels K(x, z): functions, kernel matrices in tiles, a cache of kernel rows, Nyström and Fourier features."""
