"""The default model on the real pairs, as the documentation has it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dissensus.files.pairs.reader import read_pairs
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.fit.training import cross_validate


@pytest.mark.slow
def test_the_interval_reaches_what_character_tf_idf_had(real_data: Callable[[str], Path]) -> None:
    pairs = read_pairs(real_data("hh-rlhf/harmless-base-test.jsonl.gz")).pairs
    tested = cross_validate(pairs, n_folds=5)
    found = evaluate(pairs, tested.margins, tested.length)
    assert found.accuracy.ci_high > 0.643
    assert found.length_alone.estimate == pytest.approx(0.554, abs=0.002)
    assert found.length_alone.ci_high < found.accuracy.ci_low
    assert found.log_loss < 0.64
    assert found.ece < 0.04
