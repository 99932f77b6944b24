"""Model registry on disk: round trips, damaged files, and locks."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus.errors import Conflict, InvalidInput, NotFound, Unavailable
from dissensus.files.models.registry import (
    HISTORY,
    TERMS,
    RegisteredModel,
    RegistrationTerms,
    RegistryEntry,
    append_entry,
    history_stamp,
    list_registered_models,
    lock_for_change,
    lock_for_training,
    make_version_folder,
    open_registered_model,
    register_model,
    registered_model_folder,
)
from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.evaluation.promotion import PromotionRule, decide_promotion
from dissensus.schema.records.conversation import Turn
from dissensus.stats.cluster_robust import ClusteredEstimate

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
HELPFUL = RegistrationTerms(
    purpose="helpful",
    kind="mean-variance",
    weighting=Weighting(strength="weight", soft=True),
    rule=PromotionRule(margin=0.05, confidence=0.9),
    campaigns=("red", "blue"),
)
FIRST = RegistryEntry(
    at=NOW,
    action="promoted",
    version=1,
    current=1,
    reason="It is good — ä.",
    n_pairs=12,
    accuracy=ClusteredEstimate(0.7, 0.6, 0.8, 3, 3),
    sha256="ab" * 32,
    difference=ClusteredEstimate(0.01, -0.02, 0.04, 3, 3),
    extra={"of": {}},
)
SECOND = replace(FIRST, action="kept back", version=2, reason="It is not.")
BACK = RegistryEntry(at=NOW, action="rolled back", version=1, current=1, reason="So.", extra={"from": 2})


def test_written_entries_are_read_back(tmp_path: Path) -> None:
    model = register_model(tmp_path / "helpful", HELPFUL)
    assert (model.name, model.current, model.entries) == ("helpful", None, ())
    for entry in (FIRST, SECOND, BACK):
        model = append_entry(model, entry)
    assert open_registered_model(tmp_path / "helpful") == model
    assert model.terms == HELPFUL
    assert model.current == 1
    assert list(model.trained_versions) == [1, 2]
    assert model.version_folder(2) == tmp_path / "helpful" / "2"
    with pytest.raises(NotFound, match=r"has no version 3. It has '1', '2'"):
        model.version_folder(3)


def test_version_numbers_are_not_reused(tmp_path: Path) -> None:
    model = register_model(tmp_path / "helpful", HELPFUL)
    # The first was never finished: it is not in the history, and its number is used up.
    assert [make_version_folder(model).name, make_version_folder(model).name] == ["1", "2"]
    assert open_registered_model(model.folder).trained_versions == {}


def test_names(tmp_path: Path) -> None:
    register_model(tmp_path / "harmless", RegistrationTerms(purpose="harmless"))
    with pytest.raises(Conflict, match="There is a registered model or a file"):
        register_model(tmp_path / "harmless", RegistrationTerms(purpose="harmless"))
    with pytest.raises(
        NotFound, match=r"no registered model 'harmles' in .*Did you mean 'harmless'.*preference register harmles"
    ):
        open_registered_model(tmp_path / "harmles")
    assert registered_model_folder(tmp_path, "harmless") == tmp_path / "harmless"
    for name in ("..", "../harmless", "Harmless", ""):
        with pytest.raises(InvalidInput, match="cannot be the name of a registered model"):
            registered_model_folder(tmp_path, name)
    register_model(tmp_path / "interrupted", HELPFUL).folder.rename(tmp_path / ".interrupted.part")
    assert list_registered_models(tmp_path) == ["harmless"]


def test_training_is_exclusive_and_does_not_block_a_rollback(tmp_path: Path) -> None:
    model = register_model(tmp_path / "harmless", RegistrationTerms(purpose="harmless"))
    with lock_for_training(model.folder) as locked:
        assert locked == model
        with pytest.raises(Conflict, match="is being trained now"), lock_for_training(model.folder):
            pass
        assert open_registered_model(model.folder) == model
        with lock_for_change(model.folder) as second_lock:
            model = append_entry(second_lock, FIRST)
    with lock_for_training(model.folder) as locked:
        assert locked == model


def test_concurrent_changes_are_serialised(tmp_path: Path) -> None:
    folder = register_model(tmp_path / "harmless", RegistrationTerms(purpose="harmless")).folder

    def add(number: int) -> None:
        with lock_for_change(folder) as model:
            append_entry(model, replace(FIRST, version=len(model.entries) + 1, current=1, reason=str(number)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    reopened = open_registered_model(folder)
    assert sorted(int(entry.reason) for entry in reopened.entries) == list(range(40))
    assert list(reopened.trained_versions) == list(range(1, 41))


def test_a_folder_that_cannot_be_made_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot be made"):
        register_model(tmp_path / "file" / "harmless", RegistrationTerms(purpose="harmless"))
    # As after a full disk: an existing partial folder is reused.
    (tmp_path / ".harmless.part").mkdir()
    assert register_model(tmp_path / "harmless", RegistrationTerms(purpose="harmless")).current is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "harmless"]


def test_rolling_back_to_the_replaced_version(tmp_path: Path) -> None:
    model = register_model(tmp_path / "helpful", HELPFUL)
    steps = (("promoted", 1, 1), ("promoted", 2, 2), ("kept back", 3, 2), ("promoted", 4, 4))
    before = []
    for action, version, current in steps:
        model = append_entry(model, replace(FIRST, action=action, version=version, current=current))  # type: ignore[arg-type]
        before.append(model.previous)
    assert before == [None, 1, 1, 2]
    model = append_entry(model, replace(BACK, version=1, current=1))
    assert model.previous is None
    # Rolling back a later version does not return to one that was rolled back.
    model = append_entry(model, replace(FIRST, version=5, current=5))
    assert model.previous == 1


PAIRS = [Pair((Turn("human", f"Question {number}"),), "yes", "no") for number in range(5000)]


def append_judged(model: RegisteredModel, n_wrong: dict[int, int]) -> RegisteredModel:
    """Append the decision on the next version, given the number of wrong pairs of each version."""
    version = len(model.entries) + 1

    def margins(number: int | None) -> np.ndarray | None:
        return None if number is None else np.where(np.arange(len(PAIRS)) < n_wrong[number], -1.0, 1.0)

    reference = None if model.reference == model.current else margins(model.reference)
    decision = decide_promotion(
        PAIRS, np.asarray(margins(version)), margins(model.current), reference=reference, rule=model.terms.rule
    )
    return append_entry(
        model,
        replace(
            FIRST,
            version=version,
            action="promoted" if decision.promoted else "kept back",
            current=version if decision.promoted else model.current,
            difference=decision.difference,
            over_reference=decision.over_reference,
        ),
    )


def test_many_small_losses_do_not_add_up(tmp_path: Path) -> None:
    model = register_model(tmp_path / "helpful", replace(HELPFUL, rule=PromotionRule(margin=0.05)))
    n_wrong = {}
    for version in range(1, 13):
        # Each is worse than the previous one by .01, which is less than the margin.
        n_wrong[version] = 1000 + 50 * (version - 1)
        model = append_judged(model, n_wrong)
        assert model.reference == 1
    # The fifth is worse than the first by .04, shown to be less than .05; later ones fail the test.
    assert [entry.current for entry in model.entries] == [1, 2, 3, 4, 5, *[5] * 7]


def test_a_version_shown_to_be_better_becomes_the_reference(tmp_path: Path) -> None:
    model = register_model(tmp_path / "helpful", replace(HELPFUL, rule=PromotionRule(margin=0.05)))
    n_wrong, references = {}, []
    # The third is shown to be better than the second but not than the first; the fourth is better than both.
    for version, errors in enumerate((1000, 1200, 980, 700, 1000), 1):
        n_wrong[version] = errors
        model = append_judged(model, n_wrong)
        references.append((model.current, model.reference))
    assert references == [(1, 1), (2, 1), (3, 1), (4, 4), (4, 4)]
    model = append_entry(model, replace(BACK, version=2, current=2))
    assert model.reference == 2
    assert open_registered_model(model.folder) == model


def test_the_history_stamp_changes_with_the_history(tmp_path: Path) -> None:
    model = register_model(tmp_path / "harmless", RegistrationTerms(purpose="harmless"))
    stamps = [history_stamp(model.folder)]
    for entry in (FIRST, SECOND):
        model = append_entry(model, entry)
        stamps.append(history_stamp(model.folder))
    assert len(set(stamps)) == 3
    assert history_stamp(model.folder) == stamps[-1]


def terms(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def change_terms(data: bytes) -> bytes:
        values = json.loads(data)
        change(values)
        return json.dumps(values).encode()

    return change_terms


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (TERMS, lambda _: b"{"),
        (TERMS, lambda _: b"[]"),
        (TERMS, terms(lambda values: values.update(schema_version=2))),
        (TERMS, terms(lambda values: values.update(purpose="funny"))),
        (TERMS, terms(lambda values: values.update(kind="magic"))),
        (TERMS, terms(lambda values: values.update(margin=7))),
        (TERMS, terms(lambda values: values.update(margin="0.1"))),
        (TERMS, terms(lambda values: values.pop("confidence"))),
        (HISTORY, lambda data: data[:-5]),
        (HISTORY, lambda data: data + b"null\n"),
        (HISTORY, terms(lambda values: values.update(action="vanished"))),
        (HISTORY, terms(lambda values: values.update(at="yesterday"))),
        (HISTORY, terms(lambda values: values.update(current="../../x"))),
        (HISTORY, terms(lambda values: values.update(current=9))),
        (HISTORY, terms(lambda values: values.update(version=-4))),
        (HISTORY, terms(lambda values: values.update(version=True))),
        (HISTORY, terms(lambda values: values.update(at="2026-03-04T05:06:07"))),
        (HISTORY, terms(lambda values: values.update(difference=5))),
        (HISTORY, terms(lambda values: values["difference"].update(estimate=None))),
        (HISTORY, terms(lambda values: values.update(over_reference=5))),
        (HISTORY, terms(lambda values: values.pop("over_reference"))),
        (HISTORY, terms(lambda values: values["accuracy"].update(estimate="0.6"))),
        (HISTORY, terms(lambda values: values.update(n_pairs=None))),
        (HISTORY, terms(lambda values: values.pop("sha256"))),
        (HISTORY, lambda data: data + data),
        (HISTORY, terms(lambda values: values.pop("reason"))),
        (HISTORY, terms(lambda values: values.pop("accuracy"))),
        (HISTORY, terms(lambda values: values["accuracy"].update(estimate="a lot"))),
        (HISTORY, terms(lambda values: values["accuracy"].update(ci_low=float("nan")))),
        (HISTORY, terms(lambda values: values.update(n_pairs="many"))),
        (HISTORY, lambda _: b"[" * 100_000),
    ],
)
def test_a_truncated_or_changed_registry_is_refused(
    tmp_path: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    model = append_entry(register_model(tmp_path / "harmless", RegistrationTerms(purpose="harmless")), FIRST)
    path = model.folder / name
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InvalidInput, match="is not a valid registered model"):
        open_registered_model(model.folder)


def test_a_missing_history_is_refused(tmp_path: Path) -> None:
    model = append_entry(register_model(tmp_path / "harmless", RegistrationTerms(purpose="harmless")), FIRST)
    (model.folder / HISTORY).unlink()
    with pytest.raises(InvalidInput, match="is not a valid registered model"):
        open_registered_model(model.folder)
    (model.folder / HISTORY).mkdir()
    with pytest.raises(InvalidInput, match="is not a valid registered model"):
        open_registered_model(model.folder)


def test_version_0_is_never_current(tmp_path: Path) -> None:
    model = append_entry(register_model(tmp_path / "helpful", HELPFUL), FIRST)
    with pytest.raises(ValueError, match="version 0 was never trained"):
        append_entry(model, replace(BACK, current=0))


def test_an_integer_that_no_float_holds_is_refused(tmp_path: Path) -> None:
    model = register_model(tmp_path / "helpful", HELPFUL)
    terms = json.loads((model.folder / TERMS).read_text())
    (model.folder / TERMS).write_text(json.dumps({**terms, "margin": 10**400}))
    with pytest.raises(InvalidInput, match="is not a valid registered model"):
        open_registered_model(model.folder)
