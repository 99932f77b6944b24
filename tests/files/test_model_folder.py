"""Models of disagreement on disk: round trips, and errors for damaged folders."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.preference.people import people
from tests.support.model_edits import arrays, claim_large_arrays, edit_file, head, name_unknown_compression

from dissensus.errors import InvalidInput
from dissensus.files.models.folder import ARRAY_FILES, MODEL, SUMS, WEIGHTS, load_model, save_model
from dissensus.preference.data.examples import RATER
from dissensus.preference.data.pairs import Pair
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.kinds import AnyModel, KindOfModel

KINDS: tuple[KindOfModel, ...] = ("mean-variance", "groups")


@pytest.fixture(scope="module")
def votes() -> tuple[Pair, ...]:
    return people(1.5, seed=3, n_training=120, rater_sd=1.5).votes


@pytest.fixture(scope="module")
def models(votes: tuple[Pair, ...]) -> dict[KindOfModel, AnyModel]:
    return {kind: train(votes, purpose="helpful", plan=TrainingPlan(kind=kind)) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_saving_a_loaded_model_gives_the_same_bytes(
    models: dict[KindOfModel, AnyModel], votes: tuple[Pair, ...], tmp_path: Path, kind: KindOfModel
) -> None:
    save_model(models[kind], tmp_path / "one")
    loaded = load_model(tmp_path / "one")
    save_model(loaded, tmp_path / "other")
    for name in (*ARRAY_FILES, SUMS):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert loaded.margins(votes).tolist() == models[kind].margins(votes).tolist()
    assert loaded.card["model"].startswith(f"{kind}: ")


def test_the_folder_of_groups_has_effects_of_both(models: dict[KindOfModel, AnyModel]) -> None:
    model = models["groups"]
    assert isinstance(model, Groups)
    assert set(model.effects) == {"rater_gender", RATER}


@pytest.mark.parametrize(
    ("kind", "name", "change", "message"),
    [
        ("groups", MODEL, head(lambda values: values.update(kind="group")), "kind group is not supported"),
        ("groups", MODEL, head(lambda values: values.update(axes=[])), "is not a valid model"),
        ("groups", MODEL, head(lambda values: values.pop("axes")), "'axes'"),
        ("groups", MODEL, head(lambda values: values.update(effects=["rater_shoes"])), "its groups are out of order"),
        ("groups", MODEL, head(lambda values: values["axes"]["rater_gender"].reverse()), "its groups are out of order"),
        ("groups", MODEL, head(lambda values: values["axes"]["rater_gender"].append("x")), "do not fit together"),
        ("groups", WEIGHTS, arrays(effects_0=lambda values: values[:, :-1]), "do not fit together"),
        ("groups", WEIGHTS, arrays(effects_0=lambda values: values * np.float32(np.nan)), "not all numbers"),
        ("groups", WEIGHTS, arrays(directions=lambda values: values.astype(np.float64)), "other types of numbers"),
        ("groups", WEIGHTS, arrays(directions=lambda values: values[0]), "is not a valid model"),
        ("groups", WEIGHTS, name_unknown_compression, "its arrays cannot be read"),
        ("groups", WEIGHTS, claim_large_arrays, "its arrays cannot be read"),
        ("mean-variance", MODEL, head(lambda values: values.update(typical_length=float("inf"))), "invalid values"),
        ("mean-variance", MODEL, head(lambda values: values.update(kind="groups")), "'axes'"),
        ("mean-variance", WEIGHTS, arrays(characters_spread=lambda values: values[1:]), "do not fit together"),
    ],
)
def test_invalid_content_with_matching_checksums_is_refused(
    models: dict[KindOfModel, AnyModel],
    tmp_path: Path,
    kind: KindOfModel,
    name: str,
    change: Callable[[bytes], bytes],
    message: str,
) -> None:
    save_model(models[kind], tmp_path / "model")
    edit_file(tmp_path / "model", name, change)
    with pytest.raises(InvalidInput, match="is not a valid model") as error:
        load_model(tmp_path / "model")
    assert message in str(error.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ARRAY_FILES)
def test_a_file_that_was_cut_is_refused(
    models: dict[KindOfModel, AnyModel], tmp_path: Path, kind: KindOfModel, name: str
) -> None:
    save_model(models[kind], tmp_path / "model")
    path = tmp_path / "model" / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InvalidInput, match="so it was truncated or changed"):
        load_model(tmp_path / "model")
