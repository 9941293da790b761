"""Methods on the dual variables, rows in memory."""
