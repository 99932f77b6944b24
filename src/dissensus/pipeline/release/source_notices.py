"""Notices of an export or a release: its content warning, and what others say of the data that items are from."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.source_notice import SourceNotice

MAX_NAME: Final = 100
"""Characters of the name of a source that are stated."""
_MARKUP: Final = re.compile(r"[\\`*#|<>\[\]]")
_FIELDS = ("licence", "citation", "contact", "purpose", "disclaimer")


def describe_source_notice(notice: SourceNotice) -> Iterator[str]:
    """Yield lines with what the authors of a dataset say, named as theirs.

    Examples
    --------
    >>> for line in describe_source_notice(SourceNotice(name="ours", licence="CC BY 4.0")):
    ...     print(line)
    What the authors of ours say of their data; Dissensus does not vouch for it:
    <BLANKLINE>
    - Licence: CC BY 4.0
    """
    name = describe_source(notice.name)
    stated = [(field, text) for field in _FIELDS if (text := getattr(notice, field))]
    if not stated:
        yield f"Items are from {name}, of whose terms and warnings Dissensus knows nothing. Ask its authors."
        return
    place = f" in {notice.stated_in}" if notice.stated_in else ""
    yield f"What the authors of {name} say of their data{place}; Dissensus does not vouch for it:"
    yield ""
    yield from (f"- {field.capitalize()}: {text}" for field, text in stated)


def describe_source(name: str) -> str:
    r"""Return the name of a source, which anybody may have written, as one line without markup.

    Examples
    --------
    >>> print(describe_source("ours [MIT]"))
    ours \[MIT\]
    """
    return _MARKUP.sub(r"\\\g<0>", " ".join(name.split())[:MAX_NAME])


def describe_source_notices(notices: Sequence[SourceNotice]) -> Iterator[str]:
    """Yield the lines of several notices, an empty one after each."""
    for notice in notices:
        yield from describe_source_notice(notice)
        yield ""


def describe_warnings(campaign: Campaign, notices: Sequence[SourceNotice]) -> Iterator[str]:
    """Yield lines with the content warning of a campaign in all its languages, and the notices of its sources."""
    warning = campaign.warning
    texts = dict.fromkeys(text for language in campaign.languages if (text := warning.get(language)))
    for text in texts:
        yield f"Content warning: {' '.join(text.split())}"
    yield ""
    yield from describe_source_notices(notices)
