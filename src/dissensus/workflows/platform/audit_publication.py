"""Publish the heads of audit logs: signed statements, appended to a file to be kept outside the site."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dissensus.campaign.audit_heads import ChainHead, HeadStatement, parse_statements, sign_heads
from dissensus.errors import InvalidInput, NotFound, Unavailable
from dissensus.files.raw.lock import hold_lock
from dissensus.schema.advice import error_message, join_messages
from dissensus.workflows.campaign.audit import AuditReport


def read_statements(path: Path, key: Ed25519PublicKey | None = None) -> tuple[HeadStatement, ...]:
    """Return the statements of a file after verifying their signatures and order."""
    try:
        lines = path.read_text("ascii").splitlines()
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}. Give a head, or a file of `dissensus audit --publish`.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not a file of `dissensus audit --publish`: it has other characters.") from None
    try:
        return tuple(parse_statements(lines, key))
    except InvalidInput as error:
        raise InvalidInput(join_messages(f"{path}:", error_message(error))) from None


def publish_heads(
    path: Path, reports: Sequence[AuditReport], key: Ed25519PrivateKey, *, now: datetime
) -> HeadStatement:
    """Append a signed statement of the heads of audited campaigns to a file, and return it."""
    heads = [ChainHead(campaign=report.campaign_id, events=report.n, head=report.head) for report in reports]
    try:
        # Under the lock, each statement of two processes follows the one before.
        with path.open("ab") as file, hold_lock(path):
            earlier = read_statements(path)
            statement = sign_heads(heads, key, previous=earlier[-1] if earlier else None, now=now)
            file.write(statement.to_line().encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}. Name a file in an existing folder.") from None
    return statement
