"""Rows and labels, wherever they lie: arrays, text, tables, block files; passes over them."""
