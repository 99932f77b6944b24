"""Completion URLs of Prolific, by outcome of a visit."""

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.completion_codes import CompletionCodes, Outcome
from dissensus.schema.hints import format_list, format_value


def completion_url(codes: CompletionCodes, outcome: Outcome) -> str:
    """Return where somebody is sent in the end.

    Examples
    --------
    >>> completion_url({"completed": "C1A2B3C4"}, "completed")
    'https://app.prolific.com/submissions/complete?cc=C1A2B3C4'
    """
    if outcome not in codes:
        raise InvalidInput(
            f"There is no code for {format_value(outcome)}; there are codes for {format_list(tuple(codes))}."
        )
    return f"https://app.prolific.com/submissions/complete?cc={codes[outcome]}"
