"""Methods for rows that are streamed from disk."""
