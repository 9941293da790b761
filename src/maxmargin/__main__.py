"""python -m maxmargin."""

try:
    from maxmargin.cli import main
except KeyboardInterrupt:  # from here on Ctrl-C is answered there
    raise SystemExit("maxmargin: interrupted") from None

if __name__ == "__main__":
    main()
