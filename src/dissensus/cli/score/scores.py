"""Reading of scores of models from the files of --scores."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissensus.schema.item_scores import ItemScores
    from dissensus.schema.ratings.table import Ratings


def load_scores(
    ratings: "Ratings",
    files: Sequence[Path],
    columns: Sequence[str] | None,
    unsafe: Sequence[str] | None,
    reverse: Sequence[str],
) -> "ItemScores":
    """Read scores; a label may be an answer to the question, which counts as 1 if it is unsafe, else as 0."""
    # Imported here, so that --help does not import polars.
    from dissensus.files.scores.reader import read_scores

    scale = ratings.scale(ratings.resolve_question())
    labels = {answer: float(answer in (unsafe or scale[-1:])) for answer in scale}
    return read_scores(files, models=columns, labels=labels, reverse=reverse)
