"""`maxmargin`, but with a checkpoint ten times a second: python often.py train FILE ..."""

from __future__ import annotations

import sys

from maxmargin.cli import main
from maxmargin.loop import solve
from maxmargin.loop import streaming as out_of_core

if __name__ == "__main__":
    for module in (solve, out_of_core):
        if not hasattr(module, "CHECKPOINT_SECONDS"):
            sys.exit(f"{module.__name__} has no CHECKPOINT_SECONDS: kills would seldom meet a checkpoint")
        module.CHECKPOINT_SECONDS = 0.1  # type: ignore[attr-defined]
    sys.exit(main())
