"""Command line, one file a command."""

import sys


def main() -> None:
    """Run `dissensus`: 0 is fine, 1 a clear error, 2 bad use."""
    from dissensus.cli.app import app
    from dissensus.errors import DissensusError

    try:
        app()
    except DissensusError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201 - the last word to the person
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output has left, as `| head` does; closing stderr keeps the interpreter from complaining.
        sys.stderr.close()
        sys.exit(1)
