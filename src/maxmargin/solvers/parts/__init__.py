"""Building blocks of the solvers: steps, line searches, linear systems, working sets."""
