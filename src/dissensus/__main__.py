"""``python -m dissensus``: the command line."""

from dissensus.cli import main

if __name__ == "__main__":
    main()
