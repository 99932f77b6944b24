"""`dissensus vet`: evidence on the quality of each rater, and audit of a filter."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import SeedOption, drop_unset
from dissensus.cli.ratings_options import reads_folder, with_ratings_options
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.errors import InvalidInput
from dissensus.extras import check_extra
from dissensus.files.raw.atomic_write import check_folder, write_atomically
from dissensus.pipeline.engine.ratings import IN_MEMORY
from dissensus.pipeline.vet import Criteria, FilterAudit, Vetting, audit_flagged
from dissensus.pipeline.vet import vet as vet_raters
from dissensus.report.graphics.figure_kind import Kind, detect_kind
from dissensus.schema.ratings.table import Ratings

THRESHOLDS, AUDIT = "Thresholds", "Audit"
DRAWS = 1000


@partial(with_ratings_options, partitions=True)
def vet(
    load: partial[Ratings],
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS", help="Axis on which raters have a group; repeatable. Default: all."),
    ] = None,
    below_half: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Flag raters with at least this share of items answered in less than half the median time. "
            "Default: 0.5.",
            rich_help_panel=THRESHOLDS,
        ),
    ] = None,
    below_third: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="The same for a third of the median time. Default: 1/3.", rich_help_panel=THRESHOLDS
        ),
    ] = None,
    below_quarter: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="The same for a quarter of the median time. Default: 1/4.", rich_help_panel=THRESHOLDS
        ),
    ] = None,
    same_label: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Flag raters with at least this share of equal answers. Default: 0.99.",
            rich_help_panel=THRESHOLDS,
        ),
    ] = None,
    min_ratings: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Minimum number of ratings, or of timed items, for a flag. Default: 20.",
            rich_help_panel=THRESHOLDS,
        ),
    ] = None,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Audit the removal of flagged raters: those of the file, else those who meet a criterion.",
            rich_help_panel=AUDIT,
        ),
    ] = False,
    draws: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of random removals to compare with.", rich_help_panel=AUDIT)
    ] = DRAWS,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS",
            help="In random removals, remove as many raters of each group of this axis as the filter does.",
            rich_help_panel=AUDIT,
        ),
    ] = None,
    seed: SeedOption = 0,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the evidence: .svg, .png, .pdf or .json (Vega-Lite).")
    ] = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Compute evidence on the care of each rater, and flag raters by stated criteria; nobody is removed.

    Flags: many very fast answers, or one label throughout. Other evidence flags nobody.

    A folder or a quoted glob of Parquet files is read in blocks of items, one question, with only the raters in memory.

    The csv has a row for each rater; other commands read it with --raters, and --exclude-flagged applies its flags.

    Example: dissensus vet ratings.csv --audit --figure raters.svg
    """
    if within is not None and not audit:
        raise InvalidInput(f"--within {within} applies to the audit; add --audit, or leave it out.")
    if draws != DRAWS and not audit:
        raise InvalidInput(f"--draws {draws} applies to the audit; add --audit, or leave it out.")
    kind, figure_kind = result_writer.choose_format(format, output), None if figure is None else detect_kind(figure)
    if figure_kind not in (None, "json"):
        check_extra("figures", "--figure")
    if figure is not None:
        check_folder(figure)
    if reads_folder(load):
        if audit:
            raise InvalidInput(f"The audit of a filter is not computed from a folder of Parquet files. {IN_MEMORY}")
        ratings = load(with_times=True)
    else:
        one_question = any(load.keywords[option] for option in ("question", "answer", "categories"))
        ratings = load(all_questions=not one_question)
    thresholds = {
        "below_half": below_half,
        "below_third": below_third,
        "below_quarter": below_quarter,
        "same_label": same_label,
        "min_ratings": min_ratings,
    }
    criteria = Criteria(**drop_unset(**thresholds))
    vetting = vet_raters(ratings, criteria=criteria, by=by)
    filter_audit = _audit_filter(ratings, vetting, by=by, draws=draws, within=within, seed=seed) if audit else None
    if figure is not None and figure_kind is not None:
        _write_figure(vetting, figure, figure_kind)
    if kind is Format.TABLE:
        pages = [vetting.page(), *([] if filter_audit is None else [filter_audit.page()])]
        result_writer.write_pages(pages, output)
    else:
        result_writer.write_text(_format_vetting(vetting, filter_audit, kind), output)


def _audit_filter(
    ratings: Ratings, vetting: Vetting, *, by: list[str] | None, draws: int, within: str | None, seed: int
) -> FilterAudit:
    result = audit_flagged(ratings, vetting, by=by, draws=draws, within=within, seed=seed)
    if result is None:
        raise InvalidInput(
            "The file flags no rater and none meets a criterion, so there is no filter to audit. Leave out --audit, or "
            "lower a threshold."
        )
    return result


def _write_figure(vetting: Vetting, figure: Path, kind: Kind) -> None:
    # Imported here, since Altair takes a fifth of a second.
    from dissensus.report.figures.vetting import evidence

    write_atomically(evidence(vetting).render(kind), figure)
    typer.echo(f"Wrote {figure}.", err=True)


def _format_vetting(vetting: Vetting, audit: FilterAudit | None, kind: Format) -> str:
    if kind is Format.JSON:
        document = vetting.to_dict() | {"audit": None if audit is None else audit.to_dict()}
        return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    if audit is not None:
        typer.echo("Note: csv has the raters alone; --format json has the audit too.", err=True)
    return result_writer.to_csv(vetting.to_polars())
