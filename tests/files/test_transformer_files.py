"""Transformers on disk: as they were, and refused where they are not."""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.files.damage import DAMAGES, check_refused
from tests.preference.pairs import simulated
from tests.preference.transformer.bases import gpt2
from tests.preference.transformer.conversations import fitting, learned

from dissensus.errors import InvalidInput, NotFound, Unavailable
from dissensus.files.models.folder import MODEL, SUMS, TRANSFORMER_FILES, load_model, make_folder, save_model
from dissensus.files.models.transformer import CONFIG, NETWORK, TOKENIZER
from dissensus.preference.fit.training import train
from dissensus.schema.records.conversation import Conversation

if TYPE_CHECKING:
    from dissensus.preference.transformer.model import Transformer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> "Transformer":
    return learned(gpt2(tmp_path_factory.mktemp("base") / "gpt2"))


@pytest.fixture
def folder(model: "Transformer", tmp_path: Path) -> Path:
    save_model(model, tmp_path / "model")
    return tmp_path / "model"


def signed(folder: Path) -> None:
    """Write sums that fit."""
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in TRANSFORMER_FILES]
    (folder / SUMS).write_text("".join(sums))


@pytest.mark.ml
def test_what_is_written_is_read_byte_for_byte(model: "Transformer", folder: Path, tmp_path: Path) -> None:
    from dissensus.preference.transformer.model import Transformer

    read = load_model(folder)
    assert isinstance(read, Transformer)
    save_model(read, tmp_path / "other")
    assert {path.name for path in folder.iterdir()} == {*TRANSFORMER_FILES, SUMS}
    for name in (*TRANSFORMER_FILES, SUMS):
        assert (folder / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
        assert (folder / name).stat().st_mode == (folder / SUMS).stat().st_mode
    pairs = fitting(50)
    assert read.margins(pairs).tolist() == model.margins(pairs).tolist()
    talk = Conversation.from_turns([("human", "003 thirsty"), ("bot", "tea for you"), ("bot", "<eos> hat")])
    assert read.score([talk]) == model.score([talk])
    assert read.card == model.card


@pytest.mark.ml
@pytest.mark.parametrize("name", [*TRANSFORMER_FILES, SUMS])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused(folder: Path, name: str, damage: str) -> None:
    check_refused(folder / name, damage)


@pytest.mark.ml
@pytest.mark.parametrize("name", ["adapter_config.json", "pytorch_model.bin", "modeling_gpt2.py"])
def test_nothing_may_lie_beside_it(folder: Path, name: str) -> None:
    (folder / name).write_text("{}")
    with pytest.raises(InvalidInput, match=f"it holds '{name}' too"):
        load_model(folder)


@pytest.mark.ml
@pytest.mark.parametrize(
    ("name", "key", "value", "says"),
    [
        (MODEL, "purpose", "both", "its purpose is both"),
        (MODEL, "schema_version", 2, "version 2"),
        (MODEL, "kind", "linear", "of kind linear is not known here"),
        (MODEL, "temperature", 0, "its numbers are"),
        (MODEL, "length_alone", float("nan"), "its numbers are"),
        (MODEL, "max_length", 3, "it reads 3 tokens"),
        (MODEL, "max_length", "many", "it reads many tokens"),
        (MODEL, "pad", 10**6, "its marks are"),
        (MODEL, "end", [-1], "its marks are"),
        (CONFIG, "model_type", "nothing", "is no model that can be trusted"),
        (CONFIG, "n_layer", 3, "its weights are not those that its configuration asks for"),
        (CONFIG, "id2label", {"0": "a", "1": "b"}, "is no model that can be trusted"),
        (CONFIG, "attn_implementation", "somebody/kernels", "asks for code from elsewhere"),
        (TOKENIZER, "model", {"type": "None"}, "is no model that can be trusted"),
    ],
)
def test_sums_that_fit_do_not_make_a_model(folder: Path, name: str, key: str, value: object, says: str) -> None:
    values = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**values, key: value}))
    signed(folder)
    with pytest.raises(InvalidInput, match="is no model that can be trusted") as refused:
        load_model(folder)
    assert says in str(refused.value)


@pytest.mark.ml
@pytest.mark.parametrize("change", ["pickle", "fewer", "nan"])
def test_weights_that_are_none(folder: Path, change: str) -> None:
    import torch
    from safetensors.torch import load, save_file

    weights = load((folder / NETWORK).read_bytes())
    if change == "pickle":
        torch.save(weights, folder / NETWORK)
    else:
        weights["score.weight"] *= float("nan")
        if change == "fewer":
            del weights["score.weight"]
        save_file(weights, folder / NETWORK, metadata={"format": "pt"})
    signed(folder)
    with pytest.raises(InvalidInput, match=r"no model that can be trusted|scores that are no numbers"):
        load_model(folder).margins(fitting(2))


@pytest.mark.ml
def test_a_model_of_another_kind_takes_its_place(model: "Transformer", folder: Path) -> None:
    linear = train(simulated(60)[0], purpose="helpful")
    for one in (linear, model, linear):
        save_model(one, folder)
        assert type(load_model(folder)) is type(one)


@pytest.mark.ml
def test_a_folder_of_something_else_is_not_written_to(model: "Transformer", tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("ten years of work")
    with pytest.raises(InvalidInput, match=r"holds something else than a model: 'thesis\.tex'"):
        save_model(model, tmp_path)


def written(folder: Path, change: Callable[[Path], object] = bool) -> Path:
    """Write what looks like a transformer from outside."""
    make_folder(folder)
    for name in TRANSFORMER_FILES:
        (folder / name).write_text('{"schema_version": 1, "kind": "transformer", "purpose": "helpful"}')
    change(folder)
    signed(folder)
    return folder


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Unavailable, match=r"need torch, which is not installed.*pip install 'dissensus\[ml\]'"):
        load_model(written(tmp_path / "model"))


def test_what_is_wrong_from_outside_is_told_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    folder = written(tmp_path / "model")
    (folder / NETWORK).write_text("cut")
    with pytest.raises(InvalidInput, match=r"the SHA-256 of model\.safetensors is not the one"):
        load_model(folder)
    (folder / NETWORK).unlink()
    with pytest.raises(NotFound, match=r"'model\.safetensors' is missing"):
        load_model(folder)
