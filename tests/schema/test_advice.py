"""Messages with a remedy on the command line and another one on the site."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass

import pytest

import dissensus as ds
from dissensus.schema.advice import Advice, word_for_site


@dataclass(frozen=True)
class Noted:
    note: str


def pickle_once(value: object) -> object:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copy_value", [copy.copy, copy.deepcopy, pickle_once])
def test_copies_have_both_wordings(copy_value: Callable[[Advice], Advice]) -> None:
    copied = copy_value(Advice("Use --seed 1.", site="Choose a seed."))
    assert (copied, word_for_site(copied)) == ("Use --seed 1.", "Choose a seed.")


def test_results_with_messages_are_pickled_and_become_dictionaries() -> None:
    advice = Advice("Use --seed 1.", site="Choose a seed.")
    assert asdict(Noted(advice)) == {"note": "Use --seed 1."}
    error = pickle.loads(pickle.dumps(ds.NotFound(advice)))
    assert word_for_site(error.args[0]) == "Choose a seed."
