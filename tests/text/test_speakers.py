"""Labels that name no known speaker."""

import pytest

from dissensus.text.speakers import find_unknown_speakers


@pytest.mark.parametrize("name", ["LLM", "ChatGPT", "GPT-4o", "User", "Claude 3", "Bot", "Speaker 2", "System"])
def test_usual_names_of_speakers_are_found(name: str) -> None:
    assert find_unknown_speakers([f"Is it safe?\n\n{name}: No."], paragraphs=True) == (name,)
    assert find_unknown_speakers([f"Is it safe?\n**{name}:** No."]) == (name,)


@pytest.mark.parametrize(
    "text", ["Ingredients:\n\nSugar: 2 g", "the user: me", "I asked the LLM: no", "A: yes\nB: no", "Note:\n\nModels: 3"]
)
def test_other_text_with_colons_is_none(text: str) -> None:
    assert find_unknown_speakers([text]) == ()


def test_in_transcripts_only_a_paragraph_begins_a_turn() -> None:
    assert find_unknown_speakers(["as in\nUser: hello"], paragraphs=True) == ()
