"""Models of embeddings on disk: as they were with the encoder that made them, and with no other one."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.preference.encoders import Hashed, Topics
from tests.preference.pairs import simulated
from tests.support.model_edits import arrays, head

from dissensus.errors import InvalidInput, Unavailable
from dissensus.files.models.folder import ARRAY_FILES, MODEL, SUMS, WEIGHTS, load_model, save_model
from dissensus.files.models.parts import model_kind
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.preference.models.embedding import Embedding

PAIRS = simulated(60)[0]


@pytest.fixture(scope="module")
def model() -> Embedding:
    found = train(PAIRS, purpose="harmless", plan=TrainingPlan(kind="embedding", encoder=Hashed()))
    assert isinstance(found, Embedding)
    return found


def test_what_is_written_is_read_byte_for_byte(model: Embedding, tmp_path: Path) -> None:
    save_model(model, tmp_path / "one")
    read = load_model(tmp_path / "one", encoder=Hashed())
    save_model(read, tmp_path / "other")
    for name in (*ARRAY_FILES, SUMS):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert read.margins(PAIRS).tolist() == model.margins(PAIRS).tolist()
    assert model_kind(read) == "embedding"
    assert json.loads((tmp_path / "one" / MODEL).read_text())["encoder"]["sha256"] == "a" * 64


def test_it_is_read_with_its_encoder_alone(model: Embedding, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    with pytest.raises(Unavailable, match="The encoder 'hashed' is not known here"):
        load_model(tmp_path / "model")
    newer = Hashed()
    newer.sha256 = "c" * 64
    for other in (Topics(), newer):
        with pytest.raises(Unavailable, match="was made with the encoder 'hashed' whose SHA-256 begins with 'aaaaaa"):
            load_model(tmp_path / "model", encoder=other)


def encoder(**changes: Any) -> Callable[[bytes], bytes]:
    return head(lambda held: held["encoder"].update(changes))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (MODEL, head(lambda held: held.pop("encoder")), "'encoder'"),
        (MODEL, head(lambda held: held.update(encoder=["hashed"])), "is no model that can be trusted"),
        (MODEL, encoder(dimension="8"), "its encoder is"),
        (MODEL, encoder(dimension=9), "do not fit together"),
        (MODEL, encoder(name=None), "its encoder is"),
        (MODEL, encoder(sha256=7), "is no model that can be trusted"),
        (MODEL, head(lambda held: held.update(context="yes")), "its encoder is"),
        (MODEL, head(lambda held: held.update(context=not held["context"])), "do not fit together"),
        (WEIGHTS, arrays(vector_weights=lambda held: held[1:]), "do not fit together"),
        (WEIGHTS, arrays(vector_weights=lambda held: held.astype(np.float64)), "other types of numbers"),
        (WEIGHTS, arrays(vector_weights=lambda held: held * np.float32(np.inf)), "not all numbers"),
        (WEIGHTS, lambda data: data[:-9], "not a zip file"),
    ],
)
def test_sums_that_fit_do_not_make_a_model(
    model: Embedding, tmp_path: Path, name: str, change: Callable[[bytes], bytes], says: str
) -> None:
    save_model(model, tmp_path / "model")
    path = tmp_path / "model" / name
    path.write_bytes(change(path.read_bytes()))
    sums = [f"{hashlib.sha256((tmp_path / 'model' / one).read_bytes()).hexdigest()}  {one}" for one in ARRAY_FILES]
    (tmp_path / "model" / SUMS).write_text("\n".join(sums))
    with pytest.raises(InvalidInput, match="is no model that can be trusted") as refused:
        load_model(tmp_path / "model", encoder=Hashed())
    assert says in str(refused.value)
