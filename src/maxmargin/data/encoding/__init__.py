"""Columns of tables as features: numbers, categories, text and dates (see encoder.py)."""
