"""Documented results of the default model on real pairs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dissensus.files.pairs.reader import read_pairs
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.fit.training import cross_validate


@pytest.mark.slow
def test_the_interval_contains_the_accuracy_of_character_tf_idf(real_data: Callable[[str], Path]) -> None:
    pairs = read_pairs(real_data("hh-rlhf/harmless-base-test.jsonl.gz")).pairs
    tested = cross_validate(pairs, n_folds=5)
    evaluation = evaluate(pairs, tested.margins, tested.length)
    assert evaluation.accuracy.ci_high > 0.643
    assert evaluation.length_alone.estimate == pytest.approx(0.554, abs=0.002)
    assert evaluation.length_alone.ci_high < evaluation.accuracy.ci_low
    assert evaluation.log_loss < 0.64
    assert evaluation.ece < 0.04
