"""The sections of a report: text, tables and pictures about one subject each."""
