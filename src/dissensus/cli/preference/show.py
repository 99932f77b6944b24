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
    """Tell what a model is: its kind, what it was trained on, how often it was right, and its limits.

    Example: dissensus preference show harmless-model
    """
    kind = result_writer.choose_format(format, output)
    if kind is Format.CSV:
        raise InvalidInput("A card is no table of rows. Choose --format table or --format json.")
    result_writer.check_output(output)
    trained, known = load_model(model), read_identity(model)
    about = {"kind": model_kind(trained), "purpose": trained.purpose, "sha256": known.sha256}
    if kind is Format.JSON:
        told = {"schema_version": 1, "name": known.name, **about, "card": trained.card}
        result_writer.write_text(json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False), output)
        return
    try:
        told_by_card, limits = list(_card_lines(trained.card)), list(trained.card.get("limits", []))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInput(
            f"{model}: card.json is no card as training writes it. Copy the model again; --format json has it as it is."
        ) from None
    lines = [*about.items(), *told_by_card, *_group_lines(trained)]
    grid = Grid(
        (escape_unprintable(known.name), ""), tuple((name, escape_unprintable(str(value))) for name, value in lines)
    )
    result_writer.write_pages(
        [Page("A preference model.", (grid,), tuple(escape_unprintable(str(one)) for one in limits))], output
    )


def _card_lines(card: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield lines of a model card; one written elsewhere may lack some."""
    for name, what in (("n_pairs", "pairs"), ("n_dialogues", "dialogues"), ("n_raters", "raters")):
        if card.get(name) is not None:
            yield what, f"{card[name]:,}"
    counting = card.get("counting")
    if counting:
        yield "strength", counting["strength"] + (", soft labels" if counting["soft"] else "")
    if card.get("encoder"):
        yield "encoder", card["encoder"]["name"]
    if "base" in card:
        yield from _transformer_lines(card)
    held = card.get("held_out")
    if held:
        yield "accuracy held out", "{estimate:.3f} ({ci_low:.3f}–{ci_high:.3f})".format(**held["accuracy"])
        yield "log-loss held out", f"{held['log_loss']:.3f}"
        if "r_squared" in held:
            yield "r² held out", f"{held['r_squared']:.3f}"


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
