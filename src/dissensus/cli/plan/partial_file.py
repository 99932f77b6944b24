"""File of partial results beside the output of a plan, for `--resume`."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.errors import InvalidInput
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.pipeline.plan.partial import PartialResults
from dissensus.schema.hints import count_noun

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SUFFIX = ".partial"
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Continue an interrupted plan: designs in FILE.partial are not simulated again."),
]


@contextmanager
def keep_partial(output: Path | None, *plan: "DataclassInstance", resume: bool) -> Iterator[PartialResults]:
    """Store each design in FILE.partial, which is deleted when the block ends; it is of one pilot and its settings.

    After an error the file stays, unless it has no design.
    """
    if output is None:
        if resume:
            raise InvalidInput("--resume continues the plan of a file. Name it with -o FILE.")
        yield PartialResults()
        return
    path = output.with_name(output.name + SUFFIX)
    digest = hashlib.sha256(json.dumps([asdict(part) for part in plan], sort_keys=True).encode()).hexdigest()
    designs = _read_partial(path, digest) if resume else {}
    if designs:
        verb = "was" if len(designs) == 1 else "were"
        typer.echo(f"{count_noun(len(designs), 'design')} {verb} simulated before the interruption.", err=True)
    n_stored = len(designs)
    try:
        with path.open("a" if designs else "w", encoding="utf-8") as file:
            if not designs:
                file.write(json.dumps({"plan": digest}) + "\n")

            def store(key: str, values: Mapping[str, Any]) -> None:
                nonlocal n_stored
                file.write(json.dumps({"design": key, "result": values}) + "\n")
                file.flush()
                n_stored += 1

            yield PartialResults(designs, store)
    except BaseException:
        if not n_stored:
            path.unlink(missing_ok=True)
        raise
    path.unlink()


def _read_partial(path: Path, digest: str) -> dict[str, Mapping[str, Any]]:
    """Return the designs of a file, and remove the line that the interruption cut off, if there is one."""
    if not path.exists():
        raise InvalidInput(f"There is no {path}: nothing was interrupted. Leave out --resume.")
    first, *lines = path.read_text("utf-8").splitlines() or [""]
    if first != json.dumps({"plan": digest}):
        raise InvalidInput(f"{path} is of another plan. Give the same pilot and options, or leave out --resume.")
    designs: dict[str, Mapping[str, Any]] = {}
    for line in lines:
        try:
            row = json.loads(line)
            designs[row["design"]] = row["result"]
        except (ValueError, TypeError, KeyError):
            break
    rows = ({"plan": digest}, *({"design": key, "result": value} for key, value in designs.items()))
    write_atomically("".join(json.dumps(row) + "\n" for row in rows).encode(), path)
    return designs
