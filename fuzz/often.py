"""`maxmargin`, but with a checkpoint ten times a second: python often.py train FILE ..."""

from __future__ import annotations

import sys

from maxmargin.cli import main
from maxmargin.loop import saving

if __name__ == "__main__":
    for name, value in (("CHECKPOINT_SECONDS", 0.1), ("SHARE", 0.0)):
        if not hasattr(saving, name):
            sys.exit(f"{saving.__name__} has no {name}: kills would seldom meet a checkpoint")
        setattr(saving, name, value)
    sys.exit(main())
