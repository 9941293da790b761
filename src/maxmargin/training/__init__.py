"""The front door: `train`, and how each kind of model is trained."""
