"""The interface to the computer: compiled code, threads, memory and files."""
