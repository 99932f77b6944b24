"""Damaged folders of judges."""

from pathlib import Path

import pytest

from dissensus.errors import InvalidInput
from dissensus.files.judge.folder import ANSWERS, CACHE, RUN, check_same_run, read_judge_run
from dissensus.files.judge.response_cache import ResponseCache
from dissensus.schema.questionnaire.shipped import load_questionnaire


def test_values_that_are_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    for name in (RUN, ANSWERS, CACHE):
        (tmp_path / name).write_text("[" * 100_000 + "\n")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_judge_run(tmp_path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        check_same_run(tmp_path, "", load_questionnaire("dices-350"))
    with pytest.raises(InvalidInput, match="line 1 is not a response of a judge"):
        ResponseCache(tmp_path / CACHE)
