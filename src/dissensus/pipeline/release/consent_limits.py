"""Wording of a consent: sentences that allow numbers of groups alone, while a release publishes single rows."""

import re
from typing import Final

from dissensus.schema.campaign.definition import Campaign

_WHOLE: Final = r"(?:groups?|aggregates?|aggregated form|summaries|averages|totals)"
_LIMIT: Final = re.compile(
    rf"\b(?:groups? of people alone|(?:only|alone) (?:in|as|for|by) {_WHOLE}|(?:in|as|for|by) {_WHOLE} (?:only|alone)"
    r"|nur (?:in|als|für|nach) Gruppen|nur (?:in )?zusammengefasst\w*)\b",
    re.IGNORECASE,
)


def list_group_limits(campaign: Campaign) -> list[str]:
    """Return the sentences of text and purposes of a consent by which answers or attributes are shown in groups alone.

    Such words do not cover rows of single raters, so that a person must decide.
    """
    wordings = (campaign.consent.text, *(purpose.text for purpose in campaign.consent.purposes))
    texts = (text for wording in wordings for text in wording.values())
    sentences = (" ".join(sentence.split()) for text in texts for sentence in re.split(r"(?<=[.!?])\s+", text))
    return list(dict.fromkeys(sentence for sentence in sentences if _LIMIT.search(sentence)))
