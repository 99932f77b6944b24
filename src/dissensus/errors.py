"""Exception hierarchy of Dissensus.

::

    Exception
    └── DissensusError            base class; messages are written for users
        ├── InvalidInput          (ValueError) a file, value or option cannot be used
        ├── UndefinedEstimate     (ArithmeticError) the data do not determine the statistic
        ├── NotFound              (LookupError) a file, column or record does not exist
        ├── NotAllowed            (PermissionError) the caller lacks permission
        ├── Conflict              a resource was changed concurrently, or exists already
        ├── TooManyRequests       a rate limit was reached
        └── Unavailable           an external service or library is missing, or does not respond
            ├── NoDatabase        the database does not respond
            └── MissingExtra      an optional dependency is not installed

A message states the value given, the values allowed and the remedy.
"""


class DissensusError(Exception):
    """Base class of all errors that Dissensus raises deliberately.

    `options` are the command-line options with which the same command succeeds, if they are known.
    """

    def __init__(self, message: str = "", *, options: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.options = options


class InvalidInput(DissensusError, ValueError):
    """Invalid input: a file, a value or an option."""


class UndefinedEstimate(DissensusError, ArithmeticError):
    """The data do not determine the statistic; the message is the reason."""


class NotFound(DissensusError, LookupError):
    """A file, column or record does not exist."""


class NotAllowed(DissensusError, PermissionError):
    """The caller lacks permission."""


class Conflict(DissensusError):
    """The resource was changed concurrently, or exists already."""


class TooManyRequests(DissensusError):
    """A rate limit was reached; the message says when to try again."""

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unavailable(DissensusError):
    """An external service or library is missing or does not respond."""


class NoDatabase(Unavailable):
    """The database does not respond in time. The message may quote the database, so it is for the operator."""


class MissingExtra(Unavailable):
    """An optional dependency is not installed; the message has the command that installs it."""

    def __init__(self, use: str, module: str, extra: str) -> None:
        super().__init__(
            f"{use} needs {module}, which is not installed. Install it with: pip install 'dissensus[{extra}]'"
        )
