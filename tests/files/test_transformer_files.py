"""Transformers on disk: round trips, and errors for damaged folders."""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.files.damage import DAMAGES, check_refused
from tests.preference.pairs import simulate_pairs
from tests.preference.transformer.bases import gpt2
from tests.preference.transformer.conversations import fitting, train_fitting

from dissensus.errors import InvalidInput, NotFound, Unavailable
from dissensus.files.models.folder import MODEL, SUMS, TRANSFORMER_FILES, load_model, make_model_folder, save_model
from dissensus.files.models.transformer import CONFIG, NETWORK, TOKENIZER
from dissensus.preference.fit.training import train
from dissensus.schema.records.conversation import Conversation

if TYPE_CHECKING:
    from dissensus.preference.transformer.model import Transformer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> "Transformer":
    return train_fitting(gpt2(tmp_path_factory.mktemp("base") / "gpt2"))


@pytest.fixture
def folder(model: "Transformer", tmp_path: Path) -> Path:
    save_model(model, tmp_path / "model")
    return tmp_path / "model"


def write_sums(folder: Path) -> None:
    """Write matching checksums."""
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in TRANSFORMER_FILES]
    (folder / SUMS).write_text("".join(sums))


@pytest.mark.ml
def test_saving_a_loaded_model_gives_the_same_bytes(model: "Transformer", folder: Path, tmp_path: Path) -> None:
    from dissensus.preference.transformer.model import Transformer

    loaded = load_model(folder)
    assert isinstance(loaded, Transformer)
    save_model(loaded, tmp_path / "other")
    assert {path.name for path in folder.iterdir()} == {*TRANSFORMER_FILES, SUMS}
    for name in (*TRANSFORMER_FILES, SUMS):
        assert (folder / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
        assert (folder / name).stat().st_mode == (folder / SUMS).stat().st_mode
    pairs = fitting(50)
    assert loaded.margins(pairs).tolist() == model.margins(pairs).tolist()
    talk = Conversation.from_turns([("human", "003 thirsty"), ("bot", "tea for you"), ("bot", "<eos> hat")])
    assert loaded.score([talk]) == model.score([talk])
    assert loaded.card == model.card


@pytest.mark.ml
@pytest.mark.parametrize("name", [*TRANSFORMER_FILES, SUMS])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused(folder: Path, name: str, damage: str) -> None:
    check_refused(folder / name, damage)


@pytest.mark.ml
@pytest.mark.parametrize("name", ["adapter_config.json", "pytorch_model.bin", "modeling_gpt2.py"])
def test_other_files_in_the_folder_are_refused(folder: Path, name: str) -> None:
    (folder / name).write_text("{}")
    with pytest.raises(InvalidInput, match=f"it holds '{name}' too"):
        load_model(folder)


@pytest.mark.ml
@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        (MODEL, "purpose", "both", "its purpose is both"),
        (MODEL, "schema_version", 2, "version 2"),
        (MODEL, "kind", "linear", "of kind linear is not supported"),
        (MODEL, "temperature", 0, "invalid values"),
        (MODEL, "length_alone", float("nan"), "invalid values"),
        (MODEL, "max_length", 3, "invalid max_length: 3"),
        (MODEL, "max_length", "many", "invalid max_length: many"),
        (MODEL, "pad", 10**6, "invalid special tokens"),
        (MODEL, "end", [-1], "invalid special tokens"),
        (CONFIG, "model_type", "nothing", "is not a valid model"),
        (CONFIG, "n_layer", 3, "its weights do not match its configuration"),
        (CONFIG, "id2label", {"0": "a", "1": "b"}, "is not a valid model"),
        (CONFIG, "attn_implementation", "somebody/kernels", "requires external code"),
        (TOKENIZER, "model", {"type": "None"}, "is not a valid model"),
    ],
)
def test_invalid_content_with_matching_checksums_is_refused(
    folder: Path, name: str, key: str, value: object, message: str
) -> None:
    values = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**values, key: value}))
    write_sums(folder)
    with pytest.raises(InvalidInput, match="is not a valid model") as error:
        load_model(folder)
    assert message in str(error.value)


@pytest.mark.ml
@pytest.mark.parametrize("change", ["pickle", "fewer", "nan"])
def test_damaged_weights_are_refused(folder: Path, change: str) -> None:
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
    write_sums(folder)
    with pytest.raises(InvalidInput, match=r"not a valid model|scores that are not finite numbers"):
        load_model(folder).margins(fitting(2))


@pytest.mark.ml
def test_a_model_of_another_kind_replaces_it(model: "Transformer", folder: Path) -> None:
    linear = train(simulate_pairs(60)[0], purpose="helpful")
    for current in (linear, model, linear):
        save_model(current, folder)
        assert type(load_model(folder)) is type(current)


@pytest.mark.ml
def test_a_folder_with_other_files_is_not_written_to(model: "Transformer", tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("ten years of work")
    with pytest.raises(InvalidInput, match=r"holds other files than a model: 'thesis\.tex'"):
        save_model(model, tmp_path)


def write_like_transformer(folder: Path, change: Callable[[Path], object] = bool) -> Path:
    """Write a folder that looks like a transformer."""
    make_model_folder(folder)
    for name in TRANSFORMER_FILES:
        (folder / name).write_text('{"schema_version": 1, "kind": "transformer", "purpose": "helpful"}')
    change(folder)
    write_sums(folder)
    return folder


def test_without_the_extra_the_error_names_the_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Unavailable, match=r"needs torch, which is not installed.*pip install 'dissensus\[ml\]'"):
        load_model(write_like_transformer(tmp_path / "model"))


def test_file_errors_are_reported_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    folder = write_like_transformer(tmp_path / "model")
    (folder / NETWORK).write_text("cut")
    with pytest.raises(InvalidInput, match=r"the SHA-256 of model\.safetensors is not the one"):
        load_model(folder)
    (folder / NETWORK).unlink()
    with pytest.raises(NotFound, match=r"'model\.safetensors' is missing"):
        load_model(folder)
