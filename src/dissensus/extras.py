"""Extras: checks that their modules are installed, with an error that names the extra to install."""

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
"""Modules of the extras that whole commands need, by extra."""


def is_installed(extra: str) -> bool:
    """Return whether all modules of an extra are installed, without importing them."""
    return all(map(find_spec, MODULES[extra]))


def check_extra(extra: str, use: str) -> None:
    """Raise `MissingExtra` unless all modules of an extra are installed, without importing them."""
    for module in MODULES[extra]:
        if find_spec(module) is None:
            raise MissingExtra(use, module, extra)


@contextmanager
def require_extra(use: str, extra: str | None = None) -> Iterator[None]:
    """Raise `MissingExtra` if a block imports a module that is not installed.

    `use` is what needs it, as the subject of the message. Without `extra`, the extra is looked up in `MODULES`.

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
