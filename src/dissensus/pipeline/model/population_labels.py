"""Labels of items by population: poststratification of a multilevel model."""

import json
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.model.result import MultilevelModel, label_change_grids
from dissensus.pipeline.tables import Grid, Page, escape_unprintable, format_interval, format_short
from dissensus.schema.ratings.columns import ITEM_ID

LABEL_COLUMNS: Final = (ITEM_ID, "population", "label", "probability")
FIELDS: Final = (
    "schema_version",
    "dissensus_version",
    "warnings",
    "formula",
    "link",
    "categories",
    "confidence",
    "populations",
    "labels",
    "changed_labels",
    "changed_items",
    "notes",
)
"""Fields of a model's JSON that are about labels of populations."""


def tabulate_labels(model: MultilevelModel) -> pl.DataFrame:
    """Return the labels of a model: one line per item and population, with the share and interval of each answer."""
    shares = [f"{answer}{end}" for answer in model.categories for end in ("", "_low", "_high")]
    if clash := sorted({name for name in shares if name in LABEL_COLUMNS or shares.count(name) > 1}):
        raise InvalidInput(f"The answer {clash[0]!r} is also the name of a column of the result; rename the answer.")
    lines: dict[tuple[str, str], dict[str, str | float]] = {}
    for row in model.predictions.labels if model.predictions else ():
        keys = (row.item_id, row.population, row.label, row.probability)
        line = lines.setdefault(keys[:2], dict(zip(LABEL_COLUMNS, keys, strict=True)))
        line |= {row.answer: row.estimate, f"{row.answer}_low": row.ci_low, f"{row.answer}_high": row.ci_high}
    text = (ITEM_ID, "population", "label")
    schema = {name: pl.String if name in text else pl.Float64 for name in (*LABEL_COLUMNS, *shares)}
    return pl.DataFrame(list(lines.values()), schema=schema)


def population_labels_json(model: MultilevelModel) -> str:
    """Return the fields of a model's JSON that are about labels of populations."""
    document = model.to_dict()
    return json.dumps({name: document[name] for name in FIELDS}, ensure_ascii=False, indent=2, allow_nan=False)


def population_page(model: MultilevelModel) -> Page:
    """Return the labels of populations as a page, warnings first, then the items that change sides."""
    interval = f"{100 * model.confidence:g} % interval"
    headings = (part for name in model.categories for part in (escape_unprintable(name), interval))
    table = tabulate_labels(model)
    labels = Grid(
        ("item", "population", "label", "P(label)", *headings),
        tuple(
            (
                escape_unprintable(row[ITEM_ID]),
                escape_unprintable(row["population"]),
                escape_unprintable(row["label"]),
                format_short(row["probability"]),
                *(
                    part
                    for name in model.categories
                    for part in (
                        format_short(row[name], 3),
                        format_interval(row[f"{name}_low"], row[f"{name}_high"]),
                    )
                ),
            )
            for row in table.iter_rows(named=True)
        ),
    )
    warnings = [f"Warning: {warning}" for warning in model.warnings]
    head = f"Poststratified labels by the cumulative {model.link} model {model.formula}"
    grids = (*(label_change_grids(model.predictions) if model.predictions else ()), labels)
    return Page("\n".join([*warnings, head]), grids, model.notes)
