"""Extras: optional dependencies, and the error that names the one to install."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from dissensus.errors import MissingExtra

MODULES: Final = {
    "figures": ("vl_convert",),
    "site": (
        "alembic",
        "argon2",
        "cryptography",
        "fastapi",
        "itsdangerous",
        "PIL",
        "prometheus_client",
        "psycopg",
        "pyotp",
        "python_multipart",
        "segno",
        "sqlalchemy",
        "starlette",
        "uvicorn",
        "webauthn",
        "zxcvbn",
    ),
}
"""Modules that each extra installs, of those extras that whole commands need."""


def is_installed(extra: str) -> bool:
    """Return True if all modules of an extra can be imported."""
    return all(map(find_spec, MODULES[extra]))


def check_extra(extra: str, use: str) -> None:
    """Raise `MissingExtra` unless an extra is installed, without importing it."""
    for module in MODULES[extra]:
        if find_spec(module) is None:
            raise MissingExtra(use, module, extra)


@contextmanager
def require_extra(use: str, extra: str | None = None) -> Iterator[None]:
    """Raise `MissingExtra` if a block imports what is not installed: a module of this extra, or one in `MODULES`.

    Examples
    --------
    >>> with require_extra("The example", "figures"):
    ...     import module_that_is_missing
    Traceback (most recent call last):
    ...
    dissensus.errors.MissingExtra: The example needs module_that_is_missing, which is not installed. Install it with: \
pip install 'dissensus[figures]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        owners = [extra] if extra else [name for name, modules in MODULES.items() if module in modules]
        if not owners:
            raise
        raise MissingExtra(use, module, owners[0]) from None
