"""Command line, one file a command."""

import sys
import warnings


def main() -> None:
    """Run `dissensus`: 0 is fine, 1 a clear error, 2 bad use."""
    from dissensus.cli.app import app
    from dissensus.errors import DissensusError
    from dissensus.pipeline.tables import escape_unprintable

    # A warning is for the person too: what is the matter, not where in the code.
    warnings.showwarning = lambda message, *_: print(f"Warning: {message}", file=sys.stderr)  # noqa: T201
    try:
        app()
    except DissensusError as error:
        # Names that a file gave may hold control characters.
        message = "\n".join(map(escape_unprintable, str(error).split("\n")))
        print(f"Error: {message}", file=sys.stderr)  # noqa: T201 - the last word to the person
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output has left, as `| head` does; closing stderr keeps the interpreter from complaining.
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        print(f"Error: {error.strerror or error}: {error.filename or 'no file named'}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
