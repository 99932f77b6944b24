"""Checkpoints of an interruptible training."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from dissensus.errors import Conflict, InvalidInput, NotFound, Unavailable
from dissensus.preference.transformer.extra import is_first_process
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.schema.hints import format_list

RUN: Final = "run.json"

_CHECKPOINT = "checkpoint-"


def resume_checkpoint(plan: TransformerPlan, run: dict[str, Any]) -> Path | None:
    """Make the folder for checkpoints, or find the last one in it."""
    folder = plan.checkpoints
    if folder is None:
        if plan.resume:
            raise InvalidInput("Training is to go on, and no folder with checkpoints is named. Name it.")
        return None
    if plan.resume:
        return _going_on(folder, run)
    if is_first_process():  # of those that torchrun starts, this one alone looks and writes
        _new(folder, run)
    return None


def _new(folder: Path, run: dict[str, Any]) -> None:
    if _last(folder) is not None:
        raise Conflict(f"{folder} holds a training that was interrupted. Go on with --resume, or delete it.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if others := sorted(path.name for path in folder.iterdir() if not _is_ours(path)):
            raise InvalidInput(
                f"{folder} holds something else than checkpoints: {format_list(others, 3)}. Move it away."
            )
        _clear(folder)
        (folder / RUN).write_text(json.dumps(run, indent=2), encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"{folder} cannot be written: {error.strerror}. Name another place.") from None


def _going_on(folder: Path, run: dict[str, Any]) -> Path | None:
    try:
        known = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except OSError:
        raise NotFound(f"There is no training to go on with in {folder}. Leave out --resume to begin one.") from None
    except ValueError:
        known = None
    if known != run:
        raise InvalidInput(
            f"{folder} is of other pairs, settings, number of processes or version of Dissensus. "
            "Give the same as before, or delete it to begin anew."
        )
    return _last(folder)


def _last(folder: Path) -> Path | None:
    """Return the last checkpoint of which all was written."""
    return max((path for path in folder.glob(f"{_CHECKPOINT}*") if _is_whole(path)), key=_step, default=None)


def _step(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _is_whole(path: Path) -> bool:
    """Tell whether all of a checkpoint was written: its state is what comes last."""
    try:
        return bool(json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))["global_step"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def delete_checkpoints(plan: TransformerPlan) -> None:
    """Delete the checkpoints of a training that is done and kept."""
    if plan.checkpoints is not None and is_first_process():
        _clear(plan.checkpoints)
        plan.checkpoints.rmdir()


def _is_ours(path: Path) -> bool:
    return path.name == RUN or path.name.startswith(_CHECKPOINT)


def _clear(folder: Path) -> None:
    for path in folder.glob(f"{_CHECKPOINT}*"):
        shutil.rmtree(path)
    (folder / RUN).unlink(missing_ok=True)
