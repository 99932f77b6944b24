"""Plans, folders and checkpoints of transformers, without the library."""

from pathlib import Path
from typing import Any

import pytest

from dissensus.errors import InvalidInput
from dissensus.preference.transformer.base import find_folder, name_base
from dissensus.preference.transformer.checkpoints import RUN, delete_checkpoints
from dissensus.preference.transformer.plan import TransformerPlan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 1.5}, "batch is 1.5; give a whole number from 1"),
        ({"lora": 0}, "lora is 0; give a whole number from 1"),
        ({"epochs": 0}, "epochs is 0; give a number above 0"),
        ({"clip": float("inf")}, "clip is inf; give a number above 0"),
    ],
)
def test_numbers_out_of_range_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        TransformerPlan(base="base", **change)


def test_bases_are_folders_or_names_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_folder("~") == tmp_path
    assert (name_base("."), name_base("~"), name_base(str(tmp_path))) == (tmp_path.name,) * 3
    assert find_folder("~no-such-user/model") is None
    assert name_base("org/model") == "org/model"


def test_other_files_beside_checkpoints_are_not_deleted(tmp_path: Path) -> None:
    folder, plan = tmp_path / "run", TransformerPlan(base="base", checkpoints=tmp_path / "run")
    (folder / "checkpoint-5").mkdir(parents=True)
    for name in (RUN, "notes.txt"):
        (folder / name).touch()
    delete_checkpoints(plan)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    delete_checkpoints(plan)
    assert not folder.exists()


def test_parts_of_an_epoch_are_allowed() -> None:
    assert TransformerPlan(base="base", epochs=0.5).epochs == 0.5
