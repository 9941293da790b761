"""Problems and certificates: losses, objectives, and bounds on the distance of a point from the optimum."""
