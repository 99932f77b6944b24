"""Everything Dissensus raises on purpose.

::

    Exception
    └── DissensusError            the message is for the person who meets it
        ├── InvalidInput          (ValueError) what was given cannot be used
        ├── UndefinedEstimate     (ArithmeticError) the data do not determine the statistic
        ├── NotFound              (LookupError) a file, column or record that is not there
        ├── NotAllowed            (PermissionError) the caller may not do this
        ├── Conflict              the thing changed, or exists already
        └── Unavailable           something outside is missing or does not answer
            └── NoDatabase        that is the database, whose words are for who runs it

A message says what was given, what is allowed and what to do.
"""


class DissensusError(Exception):
    """Root of all errors that Dissensus raises on purpose."""


class InvalidInput(DissensusError, ValueError):
    """Invalid input: a file, a value or an option."""


class UndefinedEstimate(DissensusError, ArithmeticError):
    """The data do not determine the statistic; the message is the reason."""


class NotFound(DissensusError, LookupError):
    """A file, column or record that is not there."""


class NotAllowed(DissensusError, PermissionError):
    """The caller may not do this."""


class Conflict(DissensusError):
    """The thing changed meanwhile, or exists already."""


class Unavailable(DissensusError):
    """Something outside Dissensus is missing or does not answer."""


class NoDatabase(Unavailable):
    """The database does not answer, or not in time; what it says of itself is for whoever runs it."""
