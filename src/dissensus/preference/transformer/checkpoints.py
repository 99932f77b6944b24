"""Checkpoints of a training that can be resumed."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from dissensus.errors import Conflict, InvalidInput, NotFound, Unavailable
from dissensus.preference.transformer.extra import is_first_process
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.schema.hints import format_list

RUN: Final = "run.json"
"""File with what determines the weights, by which a resumed training is recognised."""

_CHECKPOINT = "checkpoint-"


def resume_checkpoint(plan: TransformerPlan, run: dict[str, Any]) -> Path | None:
    """Return the last checkpoint to resume from, or create the folder for new ones."""
    folder = plan.checkpoints
    if folder is None:
        if plan.resume:
            raise InvalidInput("There is no folder with checkpoints to resume from. Name it.")
        return None
    if plan.resume:
        return _resume(folder, run)
    if is_first_process():  # Under torchrun, only the first process checks and writes the folder
        _create(folder, run)
    return None


def _create(folder: Path, run: dict[str, Any]) -> None:
    if _last_complete(folder) is not None:
        raise Conflict(f"{folder} holds an interrupted training. Resume it with --resume, or delete it.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if foreign := sorted(path.name for path in folder.iterdir() if not _is_checkpoint_file(path)):
            raise InvalidInput(f"{folder} holds other files than checkpoints: {format_list(foreign, 3)}. Move them.")
        _clear(folder)
        (folder / RUN).write_text(json.dumps(run, indent=2), encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"{folder} cannot be written: {error.strerror}. Name another place.") from None


def _resume(folder: Path, run: dict[str, Any]) -> Path | None:
    try:
        saved_run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except OSError:
        raise NotFound(f"There is no training to resume in {folder}. Leave out --resume to begin one.") from None
    except ValueError:
        saved_run = None
    if saved_run != run:
        raise InvalidInput(
            f"{folder} belongs to other pairs, settings, number of processes or version of Dissensus. "
            "Give the same as before, or delete it to start over."
        )
    return _last_complete(folder)


def _last_complete(folder: Path) -> Path | None:
    """Return the last checkpoint that was written completely."""
    return max((path for path in folder.glob(f"{_CHECKPOINT}*") if _is_complete(path)), key=_step, default=None)


def _step(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _is_complete(path: Path) -> bool:
    """Return True if the trainer state, which is written last, is present and valid."""
    try:
        return bool(json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))["global_step"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def delete_checkpoints(plan: TransformerPlan) -> None:
    """Delete the checkpoints of a completed training whose model is saved, and their folder unless it holds others."""
    if plan.checkpoints is not None and is_first_process():
        _clear(plan.checkpoints)
        if not any(plan.checkpoints.iterdir()):
            plan.checkpoints.rmdir()


def _is_checkpoint_file(path: Path) -> bool:
    return path.name == RUN or path.name.startswith(_CHECKPOINT)


def _clear(folder: Path) -> None:
    for path in folder.glob(f"{_CHECKPOINT}*"):
        shutil.rmtree(path)
    (folder / RUN).unlink(missing_ok=True)
