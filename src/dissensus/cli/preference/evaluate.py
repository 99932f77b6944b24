"""`dissensus preference evaluate`: accuracy of a model on held-out pairs."""

import json
import os
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import ConfidenceOption, PageOutputOption
from dissensus.cli.preference.display import evaluation_page, slices_csv
from dissensus.cli.preference.options import (
    SCORE_KEY,
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
from dissensus.cli.result_writer import FormatOption
from dissensus.errors import InvalidInput
from dissensus.files.pairs.reader import ReadPairs
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.evaluation.accuracy import Evaluation
from dissensus.preference.evaluation.accuracy import evaluate as evaluate_margins
from dissensus.preference.evaluation.diagnostics import Diagnostics, compute_diagnostics
from dissensus.preference.evaluation.paired import RivalModel, compare_models
from dissensus.preference.fit.linear import fit_length
from dissensus.preference.fit.training import TrainingPlan, cross_validate
from dissensus.preference.models.kinds import AnyModel, KindOfModel
from dissensus.preference.models.linear import length_margins
from dissensus.preference.models.model import Model, check_purpose, compute_margins
from dissensus.stats.result import FloatArray
from dissensus.workflows.models.scorers import open_model

if TYPE_CHECKING:
    from dissensus.report.result import Document

CHANCE = 0.5
"""Accuracy of random choices."""


class _EvaluatedModel(NamedTuple):
    """A model, its margins on the pairs, and their evaluation."""

    model: dict[str, Any]  # Name, SHA-256 and purpose
    margins: FloatArray
    evaluation: Evaluation
    diagnostics: Diagnostics | None = None


def evaluate(
    pairs: PairsArgument,
    model: ModelOption = None,
    folds: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Cross-validate on N folds of dialogues, instead of testing a model."),
    ] = None,
    kind: KindOption = "linear",
    against: Annotated[
        str | None, typer.Option(metavar="DIR", help="Another model, compared on the same pairs.")
    ] = None,
    raters: RatersOption = None,
    purpose: PurposeOption = None,
    force: ForceOption = False,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: PageOutputOption = None,
) -> None:
    """Measure the agreement of a model with people, and its calibration.

    Example: dissensus preference evaluate harmless-base/test.jsonl.gz --model harmless-model -o report.html
    """
    if (model is None) == (folds is None):
        raise InvalidInput("Give --model DIR to test a model, or --folds N to train and test one on the same pairs.")
    if model is not None and kind != "linear":
        raise InvalidInput("--kind applies to --folds; the model of --model has its own kind.")
    target = result_writer.resolve_target(format, output)
    known_purpose = purpose or infer_purpose(pairs)
    read = load_pairs(pairs, known_purpose, raters)
    if model is not None:
        tested = _evaluate_model(read, model, known_purpose, force=force, confidence=confidence)
    else:
        tested = _cross_validate(read, folds or 0, kind, confidence=confidence, seed=seed)
    _warn_below_chance(tested)
    rival = (
        None if against is None else _evaluate_model(read, against, known_purpose, force=force, confidence=confidence)
    )
    difference = None if rival is None else _compare_models(read, tested, rival, confidence=confidence)
    result_writer.write_result(
        target,
        build_report=lambda command: _build_report(read, tested, difference, seed=seed, command=command),
        build_page=lambda: evaluation_page(tested.evaluation, tested.model["name"], difference, tested.diagnostics),
        to_json=lambda: json.dumps(_to_dict(tested, rival, difference), ensure_ascii=False, indent=2, allow_nan=False),
        to_csv=lambda: slices_csv(tested.evaluation),
    )


def _warn_below_chance(tested: _EvaluatedModel) -> None:
    accuracy = tested.evaluation.accuracy
    if accuracy.ci_high < CHANCE:
        typer.echo(
            f"Warning: {tested.model['name']} agrees with people on {accuracy.estimate:.3f} of the pairs, below "
            "chance. Does it have another purpose, such as harmless on helpful pairs, or are chosen and rejected "
            "exchanged?",
            err=True,
        )


def _build_report(
    read: ReadPairs, tested: _EvaluatedModel, rival: RivalModel | None, *, seed: int, command: str
) -> "Document":
    # Imported here, since Altair takes a fifth of a second.
    from dissensus.report.evaluation import evaluation_report

    return evaluation_report(
        tested.evaluation,
        model=tested.model["name"],
        rival=rival,
        diagnostics=tested.diagnostics,
        excluded=read.excluded,
        command=command,
        seed=seed,
    )


def _to_dict(tested: _EvaluatedModel, other: _EvaluatedModel | None, rival: RivalModel | None) -> dict[str, Any]:
    values = {"schema_version": 1, "model": tested.model, **tested.evaluation.to_dict()}
    if tested.diagnostics is not None:
        values |= tested.diagnostics.to_dict()
    if other is not None and rival is not None:
        values["against"] = {"model": other.model, **other.evaluation.to_dict()}
        values["difference"] = rival.difference.to_dict()
    return values


def _compare_models(
    read: ReadPairs, tested: _EvaluatedModel, other: _EvaluatedModel, *, confidence: float
) -> RivalModel:
    difference = compare_models(read.pairs, tested.margins, other.margins, confidence=confidence)
    name = other.model["name"]
    if name == tested.model["name"]:
        name = f"{name} ({str(other.model['sha256'])[:8]})"
    return RivalModel(name=name, evaluation=other.evaluation, difference=difference)


def _evaluate_model(
    read: ReadPairs, location: str, purpose: Purpose | None, *, force: bool, confidence: float
) -> _EvaluatedModel:
    with open_model(location, purpose=purpose, key=os.environ.get(SCORE_KEY, "")) as (model, identity):
        check_purpose(model, purpose or model.purpose, force=force)
        margins, length, diagnostics = _predict_margins(model, read, confidence)
        summary = {**identity._asdict(), "purpose": model.purpose}
    return _EvaluatedModel(
        summary, margins, evaluate_margins(read.pairs, margins, length, confidence=confidence), diagnostics
    )


def _predict_margins(
    model: Model, read: ReadPairs, confidence: float
) -> tuple[FloatArray, FloatArray, Diagnostics | None]:
    """Return the margins of a model and of length alone, and diagnostics of the model."""
    if isinstance(model, AnyModel):
        return (
            model.margins(read.pairs),
            length_margins(model, read.pairs),
            compute_diagnostics(model, read.pairs, confidence=confidence),
        )
    return compute_margins(model, read.pairs), fit_length(read.pairs), None


def _cross_validate(read: ReadPairs, folds: int, kind: KindOfModel, *, confidence: float, seed: int) -> _EvaluatedModel:
    with result_writer.progress_bar("Training") as progress:
        result = cross_validate(
            read.pairs, n_folds=folds, plan=TrainingPlan.for_kind(kind), seed=seed, progress=progress
        )
    evaluation = evaluate_margins(read.pairs, result.margins, result.length, confidence=confidence)
    return _EvaluatedModel(
        {"name": f"the {kind} model in {folds} folds", "sha256": None, "purpose": None}, result.margins, evaluation
    )
