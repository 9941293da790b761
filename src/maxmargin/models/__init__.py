"""The trained models: prediction, saving and loading."""
