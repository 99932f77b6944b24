"""`dissensus preference show`: model card."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from dissensus.cli import result_writer
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.errors import InvalidInput
from dissensus.files.models.folder import load_model, read_identity
from dissensus.files.models.parts import model_kind
from dissensus.pipeline.tables import Grid, Page, escape_unprintable
from dissensus.preference.data.examples import RATER
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.kinds import AnyModel


def show(
    model: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a trained model.")],
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Show the card of a model: its kind, training data, accuracy and limits.

    Example: dissensus preference show harmless-model
    """
    kind = result_writer.choose_format(format, output)
    if kind is Format.CSV:
        raise InvalidInput("A model card is not a table of rows. Choose --format table or --format json.")
    trained, identity = load_model(model), read_identity(model)
    summary = {"kind": model_kind(trained), "purpose": trained.purpose, "sha256": identity.sha256}
    if kind is Format.JSON:
        document = {"schema_version": 1, "name": identity.name, **summary, "card": trained.card}
        result_writer.write_text(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False), output)
        return
    try:
        card_lines, limits = list(_card_lines(trained.card)), list(trained.card.get("limits", []))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInput(
            f"{model}: card.json is not a valid model card. Copy the model again; --format json prints it unchanged."
        ) from None
    lines = [*summary.items(), *card_lines, *_group_lines(trained)]
    grid = Grid(
        (escape_unprintable(identity.name), ""), tuple((name, escape_unprintable(str(value))) for name, value in lines)
    )
    result_writer.write_pages(
        [Page("A preference model.", (grid,), tuple(escape_unprintable(str(limit)) for limit in limits))], output
    )


def _card_lines(card: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a model card; optional keys may be missing."""
    for name, label in (("n_pairs", "pairs"), ("n_dialogues", "dialogues"), ("n_raters", "raters")):
        if card.get(name) is not None:
            yield label, f"{card[name]:,}"
    weighting = card.get("weighting")
    if weighting:
        yield "strength", weighting["strength"] + (", soft labels" if weighting["soft"] else "")
    if card.get("encoder"):
        yield "encoder", card["encoder"]["name"]
    if "base" in card:
        yield from _transformer_lines(card)
    held_out = card.get("held_out")
    if held_out:
        yield "accuracy held out", "{estimate:.3f} ({ci_low:.3f}–{ci_high:.3f})".format(**held_out["accuracy"])
        yield "log-loss held out", f"{held_out['log_loss']:.3f}"
        if "r_squared" in held_out:
            yield "r² held out", f"{held_out['r_squared']:.3f}"


def _transformer_lines(card: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield base model, token limit and training speed."""
    cut, speed = card["cut"], card["speed"]
    yield "trained from", f"{card['base']['name']}, {card['base']['n_weights']:,} weights"
    yield "tokens", f"{cut['max_length']:,} at most; {cut['n_pairs']:,} of {card['n_pairs_given']:,} pairs were cut"
    yield "tokens a second", f"{speed['tokens_per_second']:,.0f} on {speed['n_processes']:,} × {speed['device']}"
    if speed["model_flops_utilisation"] is not None:
        yield "use of the device", f"{speed['model_flops_utilisation']:.1%} of {speed['peak_tflops']:g} TFLOP/s"


def _group_lines(model: AnyModel) -> Iterator[tuple[str, str]]:
    """Yield the groups of each axis, and whether the model found differences."""
    if isinstance(model, Groups):
        for axis, groups in model.axes.items():
            names = f"{len(groups):,} raters" if axis == RATER else ", ".join(groups)
            yield axis, f"{names}: {'they differ' if axis in model.effects else 'no difference was found'}"
