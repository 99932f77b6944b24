"""`dissensus preference line`, `retrain_model`, `versions` and `rollback`: versions of one model that follow each other."""

import json
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.platform.options import SettingsOption, load_settings, now, opened
from dissensus.cli.preference.options import KindOption, SeedOption, SoftOption, StrengthOption
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dissensus.files.models.registry import Entry
    from dissensus.settings import Settings
    from dissensus.workflows.platform.platform import Platform

COLUMNS = ("version", "at", "what", "current", "n_pairs", "n_held_out", "accuracy", "difference", "why")

LineArgument = Annotated[str, typer.Argument(metavar="LINE", help="The line, a folder in the setting `models`.")]


def line(
    name: LineArgument,
    purpose: Annotated[Literal["helpful", "harmless"], typer.Option(help="What people choose by.")],
    kind: KindOption = "linear",
    strength: StrengthOption = "ignored",
    soft_labels: SoftOption = False,
    margin: Annotated[
        float,
        typer.Option(metavar="SHARE", help="By how much the accuracy of a new version may be lower at most."),
    ] = 0.02,
    level: Annotated[
        float, typer.Option(metavar="SHARE", help="Confidence level of the interval that must lie above that.")
    ] = 0.95,
    campaign: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Learn from this one alone where it names the line; may be repeated."),
    ] = None,
    settings: SettingsOption = None,
) -> None:
    """Make a line without versions. Campaigns name it, and `dissensus preference retrain` trains its versions.

    Example: dissensus preference line harmless --purpose harmless --margin 0.02
    """
    from dissensus.files.models.registry import Terms, folder_of, make_line
    from dissensus.preference.data.weighting import Counting
    from dissensus.preference.evaluation.promotion import Rule
    from dissensus.preference.fit.training import Plan

    counting = Counting(strength=strength, soft=soft_labels)
    # So that what a kind needs is missed here, and not by those who train it.
    Plan.of(kind, counting)
    rule, known = Rule(margin=margin, level=level), tuple(campaign or ())
    terms = Terms(purpose=purpose, kind=kind, counting=counting, rule=rule, campaigns=known)
    made = make_line(folder_of(load_settings(settings).models, name), terms)
    typer.echo(f'Made {made.folder}. A campaign that it is to learn from says: lines = ["{name}"]')


def versions(
    line: LineArgument,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    settings: SettingsOption = None,
) -> None:
    """Tell all that happened to a line: its versions, how often they were right, and, as csv and json, why they came.

    Accuracy is on dialogues that no version was trained on; the difference is that to the one that was in use.

    Example: dissensus preference versions harmless
    """
    from dissensus.files.models.registry import folder_of, read_line

    kind = result_writer.chosen(format, output)
    result_writer.check(output)
    found = read_line(folder_of(load_settings(settings).models, line))
    if kind is Format.JSON:
        terms = {**asdict(found.terms.rule), "kind": found.terms.kind, "campaigns": list(found.terms.campaigns)}
        about = {"name": found.name, "purpose": found.terms.purpose, **terms}
        about |= {"current": found.current, "reference": found.reference}
        told = {"schema_version": 1, **about, "entries": [one.to_dict() for one in found.entries]}
        result_writer.write(json.dumps(told, ensure_ascii=False, indent=2), output)
        return
    rows, columns = [_row(one) for one in found.entries], COLUMNS if kind is Format.CSV else COLUMNS[:-1]
    result_writer.write(
        result_writer.rows_as(kind, rows, columns, name="entries", none="It has no version yet."), output
    )


def rollback(
    line: LineArgument,
    to: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Which version; default: the one in whose place it came.")
    ] = None,
    why: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")] = "",
    settings: SettingsOption = None,
) -> None:
    """Make an earlier version of a line current again; chatbots on it go on with that.

    Example: dissensus preference rollback harmless --to 2 --why "It likes long answers."
    """
    from dissensus.files.models.registry import folder_of
    from dissensus.workflows.models.retraining import roll_back_model

    entry = roll_back_model(folder_of(load_settings(settings).models, line), to, why=why, now=now())
    typer.echo(f"Version {entry.version} of {line} is current again.")


def retrain(
    line: LineArgument,
    pairs: Annotated[
        list[Path] | None, typer.Argument(metavar="PAIRS…", help="Pairs or preferences to learn from besides.")
    ] = None,
    no_site: Annotated[
        bool, typer.Option("--no-site", help="Learn from PAIRS alone, and look at no campaign.")
    ] = False,
    fewer: Annotated[
        bool, typer.Option("--fewer", help="Though there is less than half of what the current version learned from.")
    ] = False,
    seed: SeedOption = 0,
    settings: SettingsOption = None,
) -> None:
    """Train the next version of a line on all comparisons so far: of campaigns that name it, and of files.

    Every fifth dialogue is never trained on. There the new version is compared with the current one, and takes its
    place only if it is shown to be no worse by more than the margin, nor worse so than the reference: the last version
    that was shown to be better. Chatbots on the line go on with it at once.

    Example: dissensus preference retrain harmless
    """
    from dissensus.files.models.registry import folder_of
    from dissensus.workflows.models.retraining import collect_comparisons, retrain_model, retrain_from_campaigns

    known, files = load_settings(settings), pairs or []
    folder = folder_of(known.models, line)
    if no_site and not files:
        raise InvalidInput("With --no-site there is nothing to learn from. Give files of pairs, or leave it out.")
    with result_writer.progress("Training") as progress:
        if no_site:
            learn_from = partial(collect_comparisons, platform=None, files=files)
            entry = retrain_model(folder, learn_from, now=now(), fewer=fewer, seed=seed, progress=progress)
        else:
            with _site(known) as platform:
                options = {"files": files, "fewer": fewer, "seed": seed, "progress": progress}
                entry = retrain_from_campaigns(platform, folder, now=now(), **options)  # type: ignore[arg-type]
    if entry is None:
        typer.echo("Nothing is new since the last version was trained.")
        return
    for why, n in entry.found["left_out"].items():
        typer.echo(f"Note: {n:,} left out: {why}.", err=True)
    sources = [f"{n:,} of {name}" for name, n in entry.found["by_campaign"].items()]
    sources += [f"{entry.found['from_files']:,} of files"] if entry.found["from_files"] else []
    apart = entry.found["n_held_out"]
    typer.echo(f"Version {entry.version} learned from {entry.n_pairs:,} pairs; {apart:,} others are held out.")
    typer.echo(f"They are {' and '.join(sources)}. {entry.why}")
    typer.echo(f"It was {entry.what}. Current: {entry.current or 'none'}.")


@contextmanager
def _site(settings: "Settings") -> "Iterator[Platform]":
    with ExitStack() as stack:
        try:
            platform = stack.enter_context(opened(settings, old=True))
        except NotFound as error:
            raise NotFound(f"{error} To learn from files alone, say --no-site.") from None
        yield platform


def _row(entry: "Entry") -> dict[str, Any]:
    told = {**dict.fromkeys(COLUMNS), **entry.to_dict()}
    for name in ("accuracy", "difference"):
        share = told[name]
        sign = "+" if name == "difference" else ""
        if share is not None:
            told[name] = "{estimate:{sign}.3f} [{ci_low:{sign}.3f}, {ci_high:{sign}.3f}]".format(**share, sign=sign)
    return {name: told[name] for name in COLUMNS}
