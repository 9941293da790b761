"""The numbers of a report, computed with NumPy. Nothing here knows of pictures or pages."""
