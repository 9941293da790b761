"""python -m maxmargin."""

from maxmargin.cli import main

main()
