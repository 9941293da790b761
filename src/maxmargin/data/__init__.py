"""Rows and labels from arrays, text, tables and block files, and passes over the rows."""

import os
import sys

if "pyarrow" not in sys.modules:  # Arrow's own pool keeps tens of megabytes that no memory limit foresees
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
