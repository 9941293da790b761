"""Choosing C, and γ of a kernel, by cross-validation."""
