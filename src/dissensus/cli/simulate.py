"""`dissensus simulate`: simulated campaign with its true parameters."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import SeedOption, drop_unset
from dissensus.errors import InvalidInput
from dissensus.files.attempts.tables import write_attempts
from dissensus.files.raw.table_writer import check_overwrite, extension_of, write_frame
from dissensus.pipeline.simulate import GroupEffects, SimulationDesign, preset, simulate_attempts
from dissensus.pipeline.simulate import simulate as run
from dissensus.schema.ratings.columns import RATER_PREFIX

DESIGN, CARELESS, OUT = "Design", "Careless raters", "Output"


def simulate(
    preset: Annotated[
        Literal["dices-350", "dices-990", "red-team"],
        typer.Option(help="Campaign to simulate."),
    ] = "dices-350",
    items: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of items.", rich_help_panel=DESIGN)
    ] = None,
    raters_per_cell: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Raters in each cell of the preset's pool.", rich_help_panel=DESIGN),
    ] = None,
    per_item: Annotated[
        float | None,
        typer.Option(metavar="K", help="Ratings per item, balanced over the cells.", rich_help_panel=DESIGN),
    ] = None,
    group_sd: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS=SD",
            help="Standard deviation of the effects of each group of an axis on items; repeatable.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    missing: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Ratings left blank.", rich_help_panel=DESIGN)
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Raters who stop early.", rich_help_panel=DESIGN)
    ] = None,
    speeders: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Raters who take a fraction of the time.", rich_help_panel=CARELESS),
    ] = None,
    straight_liners: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Raters who give one answer throughout.", rich_help_panel=CARELESS),
    ] = None,
    clickers: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Raters who answer at random.", rich_help_panel=CARELESS)
    ] = None,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write to FILE (csv, tsv, jsonl, json, each also .gz, or parquet) instead of printing CSV.",
            rich_help_panel=OUT,
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the truth here. Default: beside FILE, as .truth.json.", rich_help_panel=OUT
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace files that are there already.", rich_help_panel=OUT)
    ] = False,
) -> None:
    """Simulate a campaign with known effects, in the schema of an official DICES file.

    The presets reproduce the pool, the shares of answers and the agreement of the published data; red-team is a file of
    attempts with the published marginals, and accepts only a seed.

    All effects, the careless raters and the settings go to the truth file.

    Example: dissensus simulate --preset dices-350 --per-item 20 --group-sd race=0.4 --seed 1 -o campaign.csv
    """
    careless = {"speeders": speeders, "straight_liners": straight_liners, "clickers": clickers}
    design = {"per_item": per_item, "missing": missing, "dropout": dropout}
    if preset == "red-team":
        options = {"items": items, "raters_per_cell": raters_per_cell, "group_sd": group_sd, "truth": truth}
        _write_attempts(output, options | careless | design, seed=seed, force=force)
        return
    if output is not None and truth is None:
        truth = output.with_name(output.name[: -len(extension_of(output))] + ".truth.json")
    for path in filter(None, (output, truth)):
        check_overwrite(path, overwrite=force)
        if not path.parent.is_dir():
            raise InvalidInput(f"{path} cannot be written: there is no folder {path.parent}. Make it, or name another.")
    campaign = run(
        _build_design(
            preset,
            items=items,
            raters_per_cell=raters_per_cell,
            group_sd=group_sd or [],
            careless=careless,
            design=design,
        ),
        seed=seed,
    )
    if output is None:
        typer.echo(campaign.frame.write_csv(), nl=False)
    else:
        write_frame(campaign.frame, output, overwrite=force)
        typer.echo(f"Wrote {output}.", err=True)
    if truth is not None:
        result_writer.write_text(campaign.truth.to_json(), truth)


def _write_attempts(output: Path | None, options: dict[str, Any], *, seed: int, force: bool) -> None:
    unused = [name for name, value in options.items() if value not in (None, [])]
    if unused:
        raise InvalidInput(
            f"--{unused[0].replace('_', '-')} does not apply to red-team attempts, which have the published marginals. "
            "Leave it out."
        )
    if output is None:
        raise InvalidInput("A file of attempts is large. Name it: -o attempts.json.gz (or .jsonl, .csv, .parquet).")
    extension_of(output)
    check_overwrite(output, overwrite=force)
    write_attempts(simulate_attempts(seed=seed), output, overwrite=force)
    typer.echo(f"Wrote {output}.", err=True)


def _build_design(
    name: str,
    *,
    items: int | None,
    raters_per_cell: int | None,
    group_sd: list[str],
    careless: dict[str, Any],
    design: dict[str, Any],
) -> SimulationDesign:
    """Return the preset with the changes of the options."""
    base = preset(name)
    pool = base.pool
    if raters_per_cell is not None:
        cells = tuple(replace(cell, raters=raters_per_cell, careless=0) for cell in pool.cells)
        pool = replace(pool, cells=cells)
    groups = {**base.effects.groups, **dict(_parse_group_effects(base, text) for text in group_sd)}
    return replace(
        base,
        items=base.items if items is None else replace(base.items, count=items),
        pool=pool,
        effects=replace(base.effects, groups=groups),
        careless=replace(base.careless, **drop_unset(**careless)),
        **drop_unset(**design),
    )


def _parse_group_effects(design: SimulationDesign, text: str) -> tuple[str, GroupEffects]:
    """Return the axis of AXIS=SD, and its effects with this standard deviation for every group."""
    name, _, number = text.partition("=")
    try:
        sd = float(number)
    except ValueError:
        raise InvalidInput(f"--group-sd {text!r} has no number after '='; write it as race=0.4.") from None
    axis = name if name.startswith(RATER_PREFIX) else RATER_PREFIX + name
    effects = design.effects.groups.get(axis, GroupEffects())
    return axis, replace(effects, item_sd=dict.fromkeys(design.pool.groups(axis), sd))
