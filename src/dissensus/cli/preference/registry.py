"""`dissensus preference register`, `retrain`, `versions` and `rollback`: the model registry."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.cli.preference.options import KindOption, SeedOption, SoftOption, StrengthOption
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.errors import InvalidInput, NotFound
from dissensus.files.models.registry import (
    RegistrationTerms,
    RegistryEntry,
    open_registered_model,
    register_model,
    registered_model_folder,
)
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.evaluation.promotion import PromotionRule
from dissensus.preference.fit.training import TrainingPlan
from dissensus.settings import Settings
from dissensus.workflows.models.retraining import (
    collect_comparisons,
    retrain_from_campaigns,
    retrain_model,
    roll_back_model,
)
from dissensus.workflows.platform.platform import Platform

COLUMNS = ("version", "at", "what", "current", "n_pairs", "n_held_out", "accuracy", "difference", "why")

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="The registered model, a folder in the setting `model_registry`.")
]


def register(
    name: ModelArgument,
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
        typer.Option(metavar="NAME", help="Learn from this one alone where it names the model; may be repeated."),
    ] = None,
    settings: SettingsOption = None,
) -> None:
    """Register a model without versions. Campaigns name it, and `dissensus preference retrain` trains its versions.

    Example: dissensus preference register harmless --purpose harmless --margin 0.02
    """
    counting = Weighting(strength=strength, soft=soft_labels)
    # So that what a kind needs is missed here, and not by those who train it.
    TrainingPlan.of(kind, counting)
    rule, known = PromotionRule(margin=margin, level=level), tuple(campaign or ())
    terms = RegistrationTerms(purpose=purpose, kind=kind, counting=counting, rule=rule, campaigns=known)
    made = register_model(registered_model_folder(load_settings(settings).model_registry, name), terms)
    typer.echo(f'Made {made.folder}. A campaign that it is to learn from says: registered_models = ["{name}"]')


def versions(
    model: ModelArgument,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    settings: SettingsOption = None,
) -> None:
    """List the history of a registered model: versions, their accuracy and, as csv and json, why they came.

    Accuracy is on dialogues that no version was trained on; the difference is that to the one that was in use.

    Example: dissensus preference versions harmless
    """
    kind = result_writer.choose_format(format, output)
    result_writer.check_output(output)
    found = open_registered_model(registered_model_folder(load_settings(settings).model_registry, model))
    if kind is Format.JSON:
        terms = {**asdict(found.terms.rule), "kind": found.terms.kind, "campaigns": list(found.terms.campaigns)}
        about = {"name": found.name, "purpose": found.terms.purpose, **terms}
        about |= {"current": found.current, "reference": found.reference}
        told = {"schema_version": 1, **about, "entries": [one.to_dict() for one in found.entries]}
        result_writer.write_text(json.dumps(told, ensure_ascii=False, indent=2), output)
        return
    rows, columns = [_row(one) for one in found.entries], COLUMNS if kind is Format.CSV else COLUMNS[:-1]
    result_writer.write_text(
        result_writer.format_rows(kind, rows, columns, name="entries", none="It has no version yet."), output
    )


def rollback(
    model: ModelArgument,
    to: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Which version; default: the one in whose place it came.")
    ] = None,
    why: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")] = "",
    settings: SettingsOption = None,
) -> None:
    """Make an earlier version of a registered model current again; chatbots on it go on with that.

    Example: dissensus preference rollback harmless --to 2 --why "It likes long answers."
    """
    entry = roll_back_model(
        registered_model_folder(load_settings(settings).model_registry, model), to, why=why, now=utc_now()
    )
    typer.echo(f"Version {entry.version} of {model} is current again.")


def retrain(
    model: ModelArgument,
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
    """Train the next version of a registered model on all comparisons of campaigns that name it, and of files.

    Every fifth dialogue is never trained on. There the new version is compared with the current one, and takes its
    place only if it is shown to be no worse by more than the margin, nor worse so than the reference: the last version
    that was shown to be better. Chatbots that use the model go on with it at once.

    Example: dissensus preference retrain harmless
    """
    known, files = load_settings(settings), pairs or []
    folder = registered_model_folder(known.model_registry, model)
    if no_site and not files:
        raise InvalidInput("With --no-site there is nothing to learn from. Give files of pairs, or leave it out.")
    with result_writer.progress_bar("Training") as progress:
        if no_site:
            learn_from = partial(collect_comparisons, platform=None, files=files)
            entry = retrain_model(folder, learn_from, now=utc_now(), fewer=fewer, seed=seed, progress=progress)
        else:
            with _site(known) as platform:
                options = {"files": files, "fewer": fewer, "seed": seed, "progress": progress}
                entry = retrain_from_campaigns(platform, folder, now=utc_now(), **options)  # type: ignore[arg-type]
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
def _site(settings: Settings) -> Iterator[Platform]:
    with ExitStack() as stack:
        try:
            platform = stack.enter_context(open_site_platform(settings, old=True))
        except NotFound as error:
            raise NotFound(f"{error} To learn from files alone, say --no-site.") from None
        yield platform


def _row(entry: RegistryEntry) -> dict[str, Any]:
    told = {**dict.fromkeys(COLUMNS), **entry.to_dict()}
    for name in ("accuracy", "difference"):
        share = told[name]
        sign = "+" if name == "difference" else ""
        if share is not None:
            told[name] = "{estimate:{sign}.3f} [{ci_low:{sign}.3f}, {ci_high:{sign}.3f}]".format(**share, sign=sign)
    return {name: told[name] for name in COLUMNS}
