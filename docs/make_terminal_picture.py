"""Draw the picture of a terminal in README.md: a table is tuned, and the model scored on rows it has not seen.

    python docs/make_terminal_picture.py

The commands are run, and what they print is drawn by rich, without fonts from the network.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from make_report_pictures import people
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COMMANDS = [
    "maxmargin tune people.csv --label answer --Cs 0.001:10:5 --quiet",
    "maxmargin score people.safetensors new-people.csv",
]
WIDTH = 100
FROM_NETWORK = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)


def main() -> None:
    """Run the commands and draw what they print."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        people(2000, 0).to_csv(Path(folder) / "people.csv", index=False)
        people(2000, 1).to_csv(Path(folder) / "new-people.csv", index=False)
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "dim"), (command, "bold")))
            console.print(Text(output_of(command, folder).rstrip()))
    picture = console.export_svg(title="maxmargin", theme=MONOKAI)
    (Path(__file__).parent / "terminal.svg").write_text(FROM_NETWORK.sub("", picture), "utf-8")


def output_of(command: str, folder: str) -> str:
    """Run a command and return what it prints."""
    words = [sys.executable, "-m", *command.split()]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": str(WIDTH)}
    )
    return done.stdout


if __name__ == "__main__":
    main()
