"""Rows and labels from arrays, text, tables and block files, and passes over the rows."""
