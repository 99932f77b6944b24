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

COLUMNS = ("version", "at", "action", "current", "n_pairs", "n_held_out", "accuracy", "difference", "reason")

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="The registered model, a folder in the setting `model_registry`.")
]


def register(
    name: ModelArgument,
    purpose: Annotated[Literal["helpful", "harmless"], typer.Option(help="Criterion of the choices.")],
    kind: KindOption = "linear",
    strength: StrengthOption = "ignored",
    soft_labels: SoftOption = False,
    margin: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Largest loss of accuracy that a new version may have."),
    ] = 0.02,
    confidence: Annotated[
        float, typer.Option(metavar="SHARE", help="Confidence level of the interval that must lie above this loss.")
    ] = 0.95,
    campaign: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Learn only from this campaign, if it uses the model; repeatable."),
    ] = None,
    settings: SettingsOption = None,
) -> None:
    """Register a model without versions. Campaigns name it, and `dissensus preference retrain` trains its versions.

    Example: dissensus preference register harmless --purpose harmless --margin 0.02
    """
    weighting = Weighting(strength=strength, soft=soft_labels)
    # Raises if the kind does not support these options, which retraining would report much later.
    TrainingPlan.for_kind(kind, weighting)
    rule, campaigns = PromotionRule(margin=margin, confidence=confidence), tuple(campaign or ())
    terms = RegistrationTerms(purpose=purpose, kind=kind, weighting=weighting, rule=rule, campaigns=campaigns)
    model = register_model(registered_model_folder(load_settings(settings).model_registry, name), terms)
    typer.echo(f'Made {model.folder}. Add to campaigns that it learns from: registered_models = ["{name}"]')


def versions(
    model: ModelArgument,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    settings: SettingsOption = None,
) -> None:
    """List the history of a registered model: versions, accuracy and, as csv and json, the reason of each entry.

    Accuracy is measured on dialogues that no version was trained on; differences are to the version in use.

    Example: dissensus preference versions harmless
    """
    kind = result_writer.choose_format(format, output)
    registered = open_registered_model(registered_model_folder(load_settings(settings).model_registry, model))
    if kind is Format.JSON:
        terms = {
            **asdict(registered.terms.rule),
            "kind": registered.terms.kind,
            "campaigns": list(registered.terms.campaigns),
        }
        summary = {"name": registered.name, "purpose": registered.terms.purpose, **terms}
        summary |= {"current": registered.current, "reference": registered.reference}
        document = {"schema_version": 1, **summary, "entries": [entry.to_dict() for entry in registered.entries]}
        result_writer.write_text(json.dumps(document, ensure_ascii=False, indent=2), output)
        return
    rows, columns = [_row(entry) for entry in registered.entries], COLUMNS if kind is Format.CSV else COLUMNS[:-1]
    result_writer.write_text(
        result_writer.format_rows(kind, rows, columns, name="entries", if_empty="There are no versions yet."), output
    )


def rollback(
    model: ModelArgument,
    to: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Version to restore. Default: that before the current one.")
    ] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Reason, for the record.")] = "",
    settings: SettingsOption = None,
) -> None:
    """Make an earlier version of a registered model current again; chatbots that use the model switch to it.

    Example: dissensus preference rollback harmless --to 2 --reason "It likes long answers."
    """
    entry = roll_back_model(
        registered_model_folder(load_settings(settings).model_registry, model), to, reason=reason, now=utc_now()
    )
    typer.echo(f"Version {entry.version} of {model} is current again.")


def retrain(
    model: ModelArgument,
    pairs: Annotated[
        list[Path] | None, typer.Argument(metavar="PAIRS…", help="Additional pairs or preferences.")
    ] = None,
    no_site: Annotated[bool, typer.Option("--no-site", help="Learn from PAIRS only, not from campaigns.")] = False,
    fewer: Annotated[
        bool, typer.Option("--fewer", help="Allow fewer than half of the pairs of the current version.")
    ] = False,
    seed: SeedOption = 0,
    settings: SettingsOption = None,
) -> None:
    """Train the next version of a registered model on all comparisons of the campaigns that use it, and of files.

    Every fifth dialogue is held out. On these the new version is compared with the current one, and is promoted only if
    it is shown to be non-inferior, within the margin, to it and to the reference: the last version that was shown to
    be better. Chatbots that use the model switch to it at once.

    Example: dissensus preference retrain harmless
    """
    site_settings, files = load_settings(settings), pairs or []
    folder = registered_model_folder(site_settings.model_registry, model)
    if no_site and not files:
        raise InvalidInput("With --no-site there are no pairs to learn from. Give files of pairs, or leave it out.")
    with result_writer.progress_bar("Training") as progress:
        if no_site:
            collect = partial(collect_comparisons, platform=None, files=files)
            entry = retrain_model(folder, collect, now=utc_now(), allow_fewer=fewer, seed=seed, progress=progress)
        else:
            with _open_site(site_settings) as platform:
                entry = retrain_from_campaigns(
                    platform, folder, now=utc_now(), files=files, allow_fewer=fewer, seed=seed, progress=progress
                )
    if entry is None:
        typer.echo("There is no new pair since the last version was trained.")
        return
    for reason, n in entry.extra["left_out"].items():
        typer.echo(f"Note: {n:,} left out: {reason}.", err=True)
    sources = [f"{n:,} of {name}" for name, n in entry.extra["by_campaign"].items()]
    sources += [f"{entry.extra['from_files']:,} of files"] if entry.extra["from_files"] else []
    n_held_out = entry.extra["n_held_out"]
    typer.echo(f"Version {entry.version} learned from {entry.n_pairs:,} pairs; {n_held_out:,} others are held out.")
    typer.echo(f"They are {' and '.join(sources)}. {entry.reason}")
    typer.echo(f"It was {entry.action}. Current: {entry.current or 'none'}.")


@contextmanager
def _open_site(settings: Settings) -> Iterator[Platform]:
    """Open the platform; an error that there is no database mentions --no-site."""
    with ExitStack() as stack:
        try:
            platform = stack.enter_context(open_site_platform(settings))
        except NotFound as error:
            raise NotFound(f"{error} To learn from files only, add --no-site.") from None
        yield platform


def _row(entry: RegistryEntry) -> dict[str, Any]:
    values = {**dict.fromkeys(COLUMNS), **entry.to_dict()}
    for name in ("accuracy", "difference"):
        share = values[name]
        sign = "+" if name == "difference" else ""
        if share is not None:
            values[name] = "{estimate:{sign}.3f} [{ci_low:{sign}.3f}, {ci_high:{sign}.3f}]".format(**share, sign=sign)
    return {name: values[name] for name in COLUMNS}
