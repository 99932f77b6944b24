"""`dissensus preference evaluate`: accuracy of a model on held-out pairs."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from dissensus.cli import result_writer
from dissensus.cli.preference.display import evaluation_page, slices_csv
from dissensus.cli.preference.options import (
    ForceOption,
    KindOption,
    ModelOption,
    PairsArgument,
    PurposeOption,
    RatersOption,
    SeedOption,
    infer_purpose,
    load_pairs,
)
from dissensus.cli.preference.serve import SCORE_KEY
from dissensus.cli.result_writer import PAGE_SUFFIXES, Format, FormatOption
from dissensus.errors import InvalidInput
from dissensus.files.pairs.reader import ReadPairs
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.data.sparse import Floats
from dissensus.preference.evaluation.accuracy import Evaluation
from dissensus.preference.evaluation.accuracy import evaluate as evaluate_margins
from dissensus.preference.evaluation.diagnostics import Diagnostics, compute_diagnostics
from dissensus.preference.evaluation.paired import RivalModel, compare_models
from dissensus.preference.fit.linear import fit_length
from dissensus.preference.fit.training import TrainingPlan, cross_validate
from dissensus.preference.models.kinds import AnyModel, KindOfModel
from dissensus.preference.models.linear import length_margins
from dissensus.preference.models.model import Model, check_purpose, compute_margins
from dissensus.report.evaluation import evaluation_report
from dissensus.workflows.models.scorers import open_model


class _EvaluatedModel(NamedTuple):
    """A model, its margins on the pairs, and their evaluation."""

    model: dict[str, Any]
    margins: Floats
    found: Evaluation
    findings: Diagnostics | None = None


def evaluate(
    pairs: PairsArgument,
    model: ModelOption = None,
    folds: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Instead of a model: train and test on N folds of dialogues."),
    ] = None,
    kind: KindOption = "linear",
    against: Annotated[
        str | None, typer.Option(metavar="DIR", help="Another model, likewise, compared on the same pairs.")
    ] = None,
    raters: RatersOption = None,
    purpose: PurposeOption = None,
    force: ForceOption = False,
    level: Annotated[float, typer.Option(metavar="SHARE", help="Confidence level.")] = 0.95,
    seed: SeedOption = 0,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE instead; .html is a report with figures."),
    ] = None,
) -> None:
    """Tell how often a model agrees with what people chose, and how well it knows.

    Example: dissensus preference evaluate harmless-base/test.jsonl.gz --model harmless-model -o report.html
    """
    if (model is None) == (folds is None):
        raise InvalidInput("Give --model DIR to test a model, or --folds N to train and test one on the same pairs.")
    paged = format is None and output is not None and output.suffix.lower() in PAGE_SUFFIXES
    if model is not None and kind != "linear":
        raise InvalidInput("--kind is what is trained in --folds; the model of --model is of its own kind.")
    form = Format.TABLE if paged else result_writer.choose_format(format, output)
    result_writer.check_output(output)
    asked = purpose or infer_purpose(pairs)
    found = load_pairs(pairs, asked, raters)
    if model is not None:
        tested = _evaluate_model(found, model, asked, force=force, level=level)
    else:
        tested = _cross_validate(found, folds or 0, kind, level=level, seed=seed)
    rival = None if against is None else _evaluate_model(found, against, asked, force=force, level=level)
    difference = None if rival is None else _compare_models(found, tested, rival, level=level)
    if paged:
        result_writer.write_text(_report(found, tested, difference, seed=seed), output)
    elif form is Format.TABLE:
        result_writer.write_pages(
            [evaluation_page(tested.found, tested.model["name"], difference, tested.findings)], output
        )
    elif form is Format.CSV:
        result_writer.write_text(slices_csv(tested.found), output)
    else:
        values = _values(tested, rival, difference)
        result_writer.write_text(json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False), output)


def _report(read: ReadPairs, tested: _EvaluatedModel, rival: RivalModel | None, *, seed: int) -> str:

    command = shlex.join(["dissensus", *sys.argv[1:]])
    return evaluation_report(
        tested.found,
        model=tested.model["name"],
        rival=rival,
        findings=tested.findings,
        excluded=read.excluded,
        command=command,
        seed=seed,
    ).to_html()


def _values(tested: _EvaluatedModel, other: _EvaluatedModel | None, rival: RivalModel | None) -> dict[str, Any]:
    values = {"schema_version": 1, "model": tested.model, **tested.found.to_dict()}
    if tested.findings is not None:
        values |= tested.findings.to_dict()
    if other is not None and rival is not None:
        values["against"] = {"model": other.model, **other.found.to_dict()}
        values["difference"] = rival.difference.to_dict()
    return values


def _compare_models(read: ReadPairs, tested: _EvaluatedModel, other: _EvaluatedModel, *, level: float) -> RivalModel:

    difference = compare_models(read.pairs, tested.margins, other.margins, level=level)
    name = other.model["name"]
    if name == tested.model["name"]:
        name = f"{name} ({str(other.model['sha256'])[:8]})"
    return RivalModel(name=name, found=other.found, difference=difference)


def _evaluate_model(
    read: ReadPairs, place: str, purpose: Purpose | None, *, force: bool, level: float
) -> _EvaluatedModel:

    with open_model(place, purpose=purpose, key=os.environ.get(SCORE_KEY, "")) as (model, identity):
        check_purpose(model, purpose or model.purpose, force=force)
        margins, length, findings = _margins(model, read, level)
        about = {**identity._asdict(), "purpose": model.purpose}
    return _EvaluatedModel(about, margins, evaluate_margins(read.pairs, margins, length, level=level), findings)


def _margins(model: Model, read: ReadPairs, level: float) -> tuple[Floats, Floats, Diagnostics | None]:
    """Return the margins of a model and of length alone, and diagnostics of the model."""
    if isinstance(model, AnyModel):
        return (
            model.margins(read.pairs),
            length_margins(model, read.pairs),
            compute_diagnostics(model, read.pairs, level=level),
        )
    return compute_margins(model, read.pairs), fit_length(read.pairs), None


def _cross_validate(read: ReadPairs, folds: int, kind: KindOfModel, *, level: float, seed: int) -> _EvaluatedModel:

    with result_writer.progress_bar("Training") as progress:
        tested = cross_validate(read.pairs, n_folds=folds, plan=TrainingPlan.of(kind), seed=seed, progress=progress)
    found = evaluate_margins(read.pairs, tested.margins, tested.length, level=level)
    return _EvaluatedModel(
        {"name": f"the {kind} model in {folds} folds", "sha256": None, "purpose": None}, tested.margins, found
    )
