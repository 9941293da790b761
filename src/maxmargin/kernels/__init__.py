"""K(x, z): functions, tiles of the matrix, rows held of it; Nyström and Fourier features."""
