"""Files of a judge's run: settings, answers, ratings."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.raw.atomic_write import make_folder, write_atomically
from dissensus.files.raw.table_stream import escape_formulas
from dissensus.pipeline.judge.records import JudgeRecord, JudgeResponses
from dissensus.schema.hints import format_list
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.parser import parse_questionnaire

RUN: Final = "run.json"
ANSWERS: Final = "answers.jsonl"
RATINGS: Final = "ratings.csv"
CACHE: Final = "cache.jsonl"
FILES: Final = (RUN, ANSWERS, RATINGS, CACHE)


def make_judge_folder(folder: Path) -> None:
    """Make the folder of a run, or check that it is one."""
    foreign = [name for name in make_folder(folder, mode=0o700) if name not in FILES]
    if foreign:
        raise InvalidInput(f"{folder} holds other files than a judge's: {format_list(foreign, 3)}. Name a new one.")


def check_same_run(folder: Path, judge_digest: str, questionnaire: Questionnaire) -> None:
    """Refuse a folder with the complete run of another judge, or of another questionnaire."""
    try:
        run = json.loads((folder / RUN).read_bytes())
        known = (run["judge_sha256"], run["questionnaire"])
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{folder / RUN} cannot be read: {error}. Name a new folder.") from None
    own = (judge_digest, json.loads(json.dumps(questionnaire.as_mapping())))
    for name, before, now in zip(("judge", "questionnaire"), known, own, strict=True):
        if before != now:
            raise InvalidInput(f"{folder} holds answers of another {name}, or of another version. Name a new folder.")


def write_judge_run(
    folder: Path, run: dict[str, Any], records: Sequence[JudgeRecord], ratings: pl.DataFrame | None
) -> None:
    """Write settings, answers and, if there are any, ratings; the settings last."""
    lines = (json.dumps(record.to_dict(), ensure_ascii=False) + "\n" for record in records)
    content = "".join(lines).encode()
    write_atomically(content, folder / ANSWERS)
    if ratings is None:
        (folder / RATINGS).unlink(missing_ok=True)
    else:
        write_atomically(escape_formulas(ratings)[0].write_csv().encode(), folder / RATINGS)
    run = {**run, "answers_sha256": hashlib.sha256(content).hexdigest()}
    write_atomically((json.dumps(run, ensure_ascii=False, indent=2) + "\n").encode(), folder / RUN)


def read_judge_run(folder: str | os.PathLike[str]) -> JudgeResponses:
    """Read the responses of a complete run of `dissensus judge run`.

    Parameters
    ----------
    folder
        The folder.

    Returns
    -------
    JudgeResponses

    Raises
    ------
    NotFound
        The folder has no complete run.
    InvalidInput
        Its files are damaged.
    """
    folder = Path(folder)
    if not (folder / RUN).is_file():
        raise NotFound(
            f"{folder} is not the folder of a complete run: {RUN} is missing. Begin or resume it: dissensus judge run"
        )
    try:
        run = json.loads((folder / RUN).read_bytes())
        content = (folder / ANSWERS).read_bytes()
        rows = [json.loads(line) for line in content.splitlines()]
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{folder} cannot be read: {error}. Run the judge again; its answers are kept.") from None
    if not isinstance(run, dict) or not all(isinstance(row, dict) for row in rows):
        raise InvalidInput(f"{folder} does not hold the run of a judge. Run it again; its answers are kept.")
    if run.get("answers_sha256") != hashlib.sha256(content).hexdigest():
        raise InvalidInput(f"{folder / ANSWERS} is not that of {RUN}, as after an interruption. Run the judge again.")
    try:
        judge, questionnaire = str(run["judge"]["name"]), parse_questionnaire(run["questionnaire"])
    except (KeyError, TypeError):
        raise InvalidInput(f"{folder / RUN} does not name judge and questionnaire. Run the judge again.") from None
    return JudgeResponses(
        judge=judge, questionnaire=questionnaire, records=tuple(JudgeRecord.from_dict(row) for row in rows)
    )
