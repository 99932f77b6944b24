"""Embedding models on disk: round trips with their encoder, errors with any other."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.preference.encoders import Hashed, Topics
from tests.preference.pairs import simulate_pairs
from tests.support.model_edits import arrays, head

from dissensus.errors import InvalidInput, Unavailable
from dissensus.files.models.folder import ARRAY_FILES, MODEL, SUMS, WEIGHTS, load_model, save_model
from dissensus.files.models.parts import model_kind
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.preference.models.embedding import Embedding

PAIRS = simulate_pairs(60)[0]


@pytest.fixture(scope="module")
def model() -> Embedding:
    trained = train(PAIRS, purpose="harmless", plan=TrainingPlan(kind="embedding", encoder=Hashed()))
    assert isinstance(trained, Embedding)
    return trained


def test_saving_a_loaded_model_gives_the_same_bytes(model: Embedding, tmp_path: Path) -> None:
    save_model(model, tmp_path / "one")
    loaded = load_model(tmp_path / "one", encoder=Hashed())
    save_model(loaded, tmp_path / "other")
    for name in (*ARRAY_FILES, SUMS):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert loaded.margins(PAIRS).tolist() == model.margins(PAIRS).tolist()
    assert model_kind(loaded) == "embedding"
    assert json.loads((tmp_path / "one" / MODEL).read_text())["encoder"]["sha256"] == "a" * 64


def test_loading_needs_the_encoder_of_the_model(model: Embedding, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    with pytest.raises(Unavailable, match="The encoder 'hashed' is unknown"):
        load_model(tmp_path / "model")
    newer = Hashed()
    newer.sha256 = "c" * 64
    for encoder in (Topics(), newer):
        with pytest.raises(Unavailable, match="was made with the encoder 'hashed' whose SHA-256 begins with 'aaaaaa"):
            load_model(tmp_path / "model", encoder=encoder)


def encoder(**changes: Any) -> Callable[[bytes], bytes]:
    return head(lambda values: values["encoder"].update(changes))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (MODEL, head(lambda values: values.pop("encoder")), "'encoder'"),
        (MODEL, head(lambda values: values.update(encoder=["hashed"])), "is not a valid model"),
        (MODEL, encoder(dimension="8"), "its encoder is"),
        (MODEL, encoder(dimension=9), "do not fit together"),
        (MODEL, encoder(name=None), "its encoder is"),
        (MODEL, encoder(sha256=7), "is not a valid model"),
        (MODEL, head(lambda values: values.update(context="yes")), "its encoder is"),
        (MODEL, head(lambda values: values.update(context=not values["context"])), "do not fit together"),
        (WEIGHTS, arrays(vector_weights=lambda values: values[1:]), "do not fit together"),
        (WEIGHTS, arrays(vector_weights=lambda values: values.astype(np.float64)), "other types of numbers"),
        (WEIGHTS, arrays(vector_weights=lambda values: values * np.float32(np.inf)), "not all numbers"),
        (WEIGHTS, lambda data: data[:-9], "not a zip file"),
    ],
)
def test_invalid_content_with_matching_checksums_is_refused(
    model: Embedding, tmp_path: Path, name: str, change: Callable[[bytes], bytes], message: str
) -> None:
    save_model(model, tmp_path / "model")
    path = tmp_path / "model" / name
    path.write_bytes(change(path.read_bytes()))
    sums = [f"{hashlib.sha256((tmp_path / 'model' / one).read_bytes()).hexdigest()}  {one}" for one in ARRAY_FILES]
    (tmp_path / "model" / SUMS).write_text("\n".join(sums))
    with pytest.raises(InvalidInput, match="is not a valid model") as error:
        load_model(tmp_path / "model", encoder=Hashed())
    assert message in str(error.value)
