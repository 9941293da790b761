"""maxmargin."""
