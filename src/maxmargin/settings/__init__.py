"""The parameters of a training: their declaration, the checks of their values, and the rules for combining them."""
