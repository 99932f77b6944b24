"""`dissensus report`: HTML report on a file of ratings."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from dissensus.cli import result_writer
from dissensus.cli.lazy_group import LazyCommand
from dissensus.cli.model_options import ModelOption, ModelOptions, split_model, with_model_options
from dissensus.cli.options import (
    GROUPS,
    AgainstOption,
    BootstrapOption,
    ByItemOption,
    CrossOption,
    LevelOption,
    MinRatersOption,
    PermutationsOption,
    PermuteWithinOption,
    ReviewsOption,
    SeedOption,
    SuccessOption,
)
from dissensus.cli.ratings_options import reads_folder, refuse_attempt_options, with_ratings_options
from dissensus.cli.result_writer import FiguresOption

PAGE = "Page"


@partial(
    with_ratings_options,
    attempts=LazyCommand("dissensus.cli.attempts", "report_attempts", ""),
    partitions=True,
)
@with_model_options
def report(
    load: partial[Any],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The report, an .html file.")] = Path(
        "report.html"
    ),
    figures: FiguresOption = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS",
            help="Axis, such as race; repeatable. Default: attributes with 2 to 12 groups, at most six.",
            rich_help_panel=GROUPS,
        ),
    ] = None,
    cross: CrossOption = None,
    by_item: ByItemOption = None,
    level: LevelOption = "nominal",
    against: AgainstOption = "rest",
    min_raters: MinRatersOption = 5,
    suppress_below: Annotated[
        int, typer.Option(metavar="K", min=0, help="Leave out groups with fewer raters.", rich_help_panel=GROUPS)
    ] = 0,
    permutations: PermutationsOption = 1000,
    permute_within: PermuteWithinOption = None,
    bootstrap: BootstrapOption = 1000,
    seed: SeedOption = 0,
    gold: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Attribute of items with the experts' labels. Default: safety_gold.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    unsafe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ANSWER",
            help="Answer that calls an item unsafe, against experts; repeatable. Default: Yes.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    contested: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of contested items.", rich_help_panel=PAGE)
    ] = 10,
    text: Annotated[
        bool | None,
        typer.Option(
            "--text/--no-text",
            help="Include texts, folded behind a warning. Default: those of items, not those of attempts.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    model: ModelOption = None,
    *,
    model_options: partial[ModelOptions],
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.", rich_help_panel=PAGE)] = None,
    reviews: ReviewsOption = None,
    success_from: SuccessOption = None,
) -> None:
    """Write an HTML report of all that the ratings support: raters, items, agreement, groups, experts.

    Sections that a file does not support are left out, with the reason. The page needs no network.

    A folder or a quoted glob of Parquet files is read in blocks of items, one question, with only the raters in memory.

    For a file of red-team attempts the report shows success by model, harmlessness, tags and reviewers.

    Example: dissensus report ratings.csv --items items.csv --exclude-flagged -o report.html
    """
    refuse_attempt_options(load.keywords["ratings"], reviews, success_from)
    result_writer.check_page_output(output)
    result_writer.check_figures_folder(figures)
    formula, preset = split_model(model)
    options = model_options(
        formula=formula,
        preset=preset,
        details=model is not None and model_options.keywords["draws"] > 0,
        seed=seed,
    )
    if model is None:
        options.refuse_all()
    one_question = any(load.keywords[option] for option in ("question", "answer", "categories"))
    flagged_excluded = load.keywords["exclude_flagged"]
    # Imported here, so that --help does not import polars, and the drawing process starts while the rest is imported.
    from dissensus.report.graphics.drawing_process import open_drawing_process

    with open_drawing_process() as drawing:
        from dissensus.report.builder import build

        if reads_folder(load):
            # Contested items are named by their ids, in the order that `read_ratings` gives them.
            ratings = load(items_as_text=True, with_items=True, with_times=True)
            flagged_excluded = False  # Already left out by the reader
            fit = options.fit(ratings.collect()) if model else None
        else:
            ratings = load(all_questions=not one_question, exclude_flagged=False)
            fit = options.fit(ratings.exclude_flagged() if flagged_excluded else ratings) if model else None
        with result_writer.progress_bar("Analysing") as progress:
            page = build(
                ratings,
                by=by,
                cross=cross or (),
                by_item=by_item or (),
                level=level,
                against=against,
                exclude_flagged=flagged_excluded,
                permutations=permutations,
                permute_within=permute_within,
                bootstrap=bootstrap,
                seed=seed,
                min_raters=min_raters,
                suppress_below=suppress_below,
                gold=gold,
                unsafe=unsafe,
                contested=contested,
                text=text is not False,
                title=title,
                model=fit,
                command=result_writer.format_command(),
                progress=progress,
                drawing=drawing,
            )
        html = page.to_html()
    result_writer.write_text(html, output)
    if figures is not None:
        result_writer.write_figures(page.figures, figures)
