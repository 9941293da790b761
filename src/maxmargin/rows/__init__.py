"""Where rows come from."""

import os
import sys

if "pyarrow" not in sys.modules:  # its own pool keeps megabytes that no budget foresees
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
