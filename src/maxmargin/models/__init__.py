"""What training leaves: models that decide, are saved and are loaded."""
