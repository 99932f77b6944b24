"""Command line, one module per command."""

import gc
import os
import sys
import warnings
from contextlib import suppress
from typing import Final

INTERRUPTED: Final = 130
"""Exit code of an interrupted command: 128 + SIGINT, as in shells."""
CFFI: Final = "cffi"
"""Package that Numba imports if it is installed, which takes 30 ms; no kernel or command uses it."""


def main() -> None:
    """Run `dissensus`; exit code 0 is success, 1 an error, 2 wrong usage, 130 an interruption."""
    try:
        _run()
    except KeyboardInterrupt:
        # An interrupt before the command runs; later ones are caught by Typer.
        print("Interrupted.", file=sys.stderr)  # noqa: T201 - before exit
        sys.exit(INTERRUPTED)


def _reduce_startup_time() -> None:
    """Collect garbage rarely, keep Numba from importing cffi, and keep linear algebra on one thread."""
    gc.set_threshold(100_000, 10, 10)
    sys.modules.setdefault(CFFI, None)  # type: ignore[arg-type]
    # Read when NumPy is imported. Matrices are small, so threads would mostly wait for each other, replicates have
    # threads of their own, and the order of sums would depend on the number of processors.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _run() -> None:
    _reduce_startup_time()
    from dissensus.cli.app import app
    from dissensus.cli.remedy import print_remedy
    from dissensus.errors import DissensusError
    from dissensus.extras import require_extra
    from dissensus.pipeline.tables import escape_unprintable

    # Warnings are for users: the message without its location in the code.
    warnings.showwarning = lambda message, *_: print(f"Warning: {message}", file=sys.stderr)  # noqa: T201
    try:
        with require_extra("This command"):
            app()
    except DissensusError as error:
        # Names from a file may contain control characters.
        message = "\n".join(map(escape_unprintable, str(error).split("\n")))
        print(f"Error: {message}", file=sys.stderr)  # noqa: T201 - before exit
        print_remedy(error.options)
        sys.exit(1)
    except BrokenPipeError:
        # The reader has closed the pipe, as `| head` does; closing stderr silences the message of the interpreter.
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        print(f"Error: {error.strerror or error}: {error.filename or 'the output'}", file=sys.stderr)  # noqa: T201
        try:
            sys.stdout.flush()
        except OSError:
            with suppress(OSError):
                sys.stdout.close()  # Its buffer cannot be written either.
        sys.exit(1)
