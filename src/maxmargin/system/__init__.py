"""The computer: compiled code, threads, memory, files."""
