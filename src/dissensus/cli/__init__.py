"""Command line, one module per command."""

import sys
import warnings


def main() -> None:
    """Run `dissensus`; exit code 0 is success, 1 an error, 2 wrong usage."""
    from dissensus.cli.app import app
    from dissensus.errors import DissensusError
    from dissensus.pipeline.tables import escape_unprintable

    # Warnings are for users: the message without its location in the code.
    warnings.showwarning = lambda message, *_: print(f"Warning: {message}", file=sys.stderr)  # noqa: T201
    try:
        app()
    except DissensusError as error:
        # Names from a file may contain control characters.
        message = "\n".join(map(escape_unprintable, str(error).split("\n")))
        print(f"Error: {message}", file=sys.stderr)  # noqa: T201 - before exit
        sys.exit(1)
    except BrokenPipeError:
        # The reader has closed the pipe, as `| head` does; closing stderr silences the message of the interpreter.
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        print(f"Error: {error.strerror or error}: {error.filename or 'no file named'}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
