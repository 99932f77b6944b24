"""Writer of pair releases: the files of hh-rlhf, with lossless Parquet twins."""

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from dissensus.errors import Conflict, InvalidInput, Unavailable
from dissensus.files.pairs.columns import CHOSEN, REJECTED
from dissensus.files.pairs.reader import STRENGTH
from dissensus.files.pairs.rows import transcripts_of
from dissensus.files.pairs.writer import BATCH, write_lines
from dissensus.files.raw import table_stream
from dissensus.files.raw.atomic_write import SHARED, write_atomically
from dissensus.pipeline.release import ReleasedPair, ReleasedPairs
from dissensus.schema.hints import count_noun
from dissensus.text.transcripts import is_plain_hh, join_hh

OTHER: Final = "not-in-hh-rlhf"
"""Folder of the tranches that hh-rlhf does not have."""

POLICY: Final = "pairs.json"

_TURNS: Final = pl.List(pl.Struct({"speaker": pl.String(), "text": pl.String()}))
_STRENGTHS: Final = pl.List(pl.Struct({"rater_id": pl.String(), "strength": pl.Int8()}))

TWIN: Final[Mapping[str, pl.DataType]] = {
    CHOSEN: pl.String(),
    REJECTED: pl.String(),
    STRENGTH: pl.Float64(),
    "pair_id": pl.String(),
    "conversation_id": pl.String(),
    "context": _TURNS,
    "chosen_answer": pl.String(),
    "rejected_answer": pl.String(),
    "criterion": pl.String(),
    "strengths": _STRENGTHS,
    "edited_by": pl.String(),
    "chosen_model": pl.String(),
    "rejected_model": pl.String(),
    "chosen_ranked_by": pl.String(),
    "rejected_ranked_by": pl.String(),
    "tranche": pl.String(),
    "split": pl.String(),
}
"""Columns of a twin: those of the published file, and those that it cannot hold."""


def write_pairs(released: ReleasedPairs, folder: Path) -> tuple[str, ...]:
    """Write pairs as a folder, atomically.

    Each tranche is a folder with ``train.jsonl.gz`` and ``test.jsonl.gz``, as in hh-rlhf, and a Parquet twin of each.
    Tranches that hh-rlhf does not have are in a folder ``not-in-hh-rlhf``. ``pairs.json`` holds the policy and
    the numbers of pairs written and left out.

    Parameters
    ----------
    released
        One pair or more.
    folder
        New folder.

    Returns
    -------
    tuple of str
        Notes on pairs that were left out or are ambiguous.

    Raises
    ------
    InvalidInput
        There is no pair.
    Conflict
        The folder exists already.
    Unavailable
        The folder cannot be written.
    """
    if not released.pairs:
        dropped = "; ".join(f"{count:,}: {why}" for why, count in released.dropped.items())
        raise InvalidInput(
            f"There is no pair to write{f' ({dropped})' if dropped else ''}. Loosen the policy, or collect more."
        )
    if folder.exists():
        raise Conflict(f"{folder} is there already. Name a new folder.")
    temporary = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        for stem, pairs in _files(released).items():
            _write_file(pairs, temporary / stem)
        write_atomically(_policy(released), temporary / POLICY)
        temporary.rename(folder)
    except OSError as error:
        raise Unavailable(f"{folder} cannot be written: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            shutil.rmtree(temporary, ignore_errors=True)
    return (*released.notes(), *_ambiguous(released))


def _files(released: ReleasedPairs) -> dict[str, list[ReleasedPair]]:
    """Return the pairs of each file by its path in the folder, without extension."""
    files: dict[str, list[ReleasedPair]] = {}
    for pair in released.pairs:
        stem = f"{pair.tranche}/{pair.split}"
        files.setdefault(stem if pair.is_standard else f"{OTHER}/{stem}", []).append(pair)
    return files


def _write_file(pairs: list[ReleasedPair], stem: Path) -> None:
    stem.parent.mkdir(parents=True, exist_ok=True)
    write_lines(map(_published, pairs), stem.with_suffix(".jsonl.gz"))
    tables = (_twin(pairs[start : start + BATCH]) for start in range(0, len(pairs), BATCH))
    table_stream.write_parts(tables, TWIN, stem.with_suffix(".parquet"), mode=SHARED)


def _published(pair: ReleasedPair) -> dict[str, str]:
    return dict(zip((CHOSEN, REJECTED), transcripts_of(pair), strict=True))


def _twin(pairs: list[ReleasedPair]) -> pl.DataFrame:
    chosen, rejected = zip(*map(transcripts_of, pairs), strict=True)
    turns = [[(turn.speaker, turn.text) for turn in pair.context] for pair in pairs]
    strengths = [[(each.rater_id, each.strength) for each in pair.strengths] for pair in pairs]
    columns = {name: [read(pair) for pair in pairs] for name, read in _FLAT.items()}
    nested = {"context": _lists(turns, _TURNS), "strengths": _lists(strengths, _STRENGTHS)}
    table = pl.DataFrame({CHOSEN: chosen, REJECTED: rejected, **columns, **nested})
    return table.select(pl.col(name).cast(dtype) for name, dtype in TWIN.items())


def _lists(rows: list[list[tuple[Any, ...]]], dtype: pl.List) -> pl.Series:
    """Return a column of lists of structs; many times faster than from dictionaries."""
    fields = dict(cast("pl.Struct", dtype.inner).to_schema())
    flat = pl.DataFrame([values for row in rows for values in row], schema=fields, orient="row")
    counts = pl.DataFrame({"row": range(len(rows)), "n": [len(row) for row in rows]})
    row_indices = counts.filter(pl.col("n") > 0).select(pl.col("row").repeat_by("n")).explode("row")
    structs = flat.select(pl.struct(pl.all()).alias("struct")).hstack(row_indices)
    grouped = structs.group_by("row", maintain_order=True).agg("struct")
    lists = counts.join(grouped, on="row", how="left", maintain_order="left")["struct"]
    return lists.fill_null(pl.Series([[]], dtype=dtype)) if lists.null_count() else lists


_FLAT: Final[Mapping[str, Callable[[ReleasedPair], object]]] = {
    **{
        name: attrgetter(name)
        for name in TWIN
        if name in ReleasedPair.__dataclass_fields__ and name not in (CHOSEN, REJECTED, "context", "strengths")
    },
    "chosen_answer": attrgetter("chosen"),
    "rejected_answer": attrgetter("rejected"),
    "tranche": attrgetter("tranche"),
}
"""Columns of a twin that are neither transcripts nor lists."""


def _policy(released: ReleasedPairs) -> bytes:
    counts = {stem: len(pairs) for stem, pairs in _files(released).items()}
    policy = {
        "schema_version": 1,
        "policy": asdict(released.policy),
        "in_words": list(released.policy.sentences()),
        "pairs": counts,
        "left_out": dict(released.dropped),
    }
    return (json.dumps(policy, ensure_ascii=False, indent=2) + "\n").encode()


def _ambiguous(released: ReleasedPairs) -> tuple[str, ...]:
    """Describe the number of transcripts that are read back as other turns."""
    count = sum(not _is_plain(pair) for pair in released.pairs)
    if not count:
        return ()
    return (
        f"In {count_noun(count, 'pair')} a turn contains text that begins a turn in hh-rlhf, so its files are "
        "read back as other turns there. The twins keep the turns.",
    )


def _is_plain(pair: ReleasedPair) -> bool:
    turns = [(turn.speaker, turn.text) for turn in pair.context]
    return all(
        is_plain_hh(join_hh([*turns, ("bot", answer)]), len(turns) + 1) for answer in (pair.chosen, pair.rejected)
    )
