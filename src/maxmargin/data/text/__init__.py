"""LIBSVM text: parsed in compiled code, read whole or block by block, and written."""
