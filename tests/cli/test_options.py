"""Options that stand in a command, in a public function and in its settings have one default."""

import inspect
from collections.abc import Callable
from typing import Any, Final

import pytest

from dissensus.cli.aggregate import aggregate as aggregate_command
from dissensus.cli.analyse import analyse as analyse_command
from dissensus.cli.judge.audit import audit as audit_command
from dissensus.cli.model import model as model_command
from dissensus.cli.model_options import ModelOptions
from dissensus.cli.report import report as report_command
from dissensus.cli.score.benchmark import benchmark as benchmark_command
from dissensus.cli.vet import vet as vet_command
from dissensus.files.ratings.reader import read_ratings, validate
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.analyse.settings import AnalysisSettings
from dissensus.pipeline.judge.audit.audit import audit_judge
from dissensus.pipeline.judge.audit.result import AuditSettings
from dissensus.pipeline.model import fit_model
from dissensus.pipeline.score import compare_decisions, score_chatbots, score_models
from dissensus.pipeline.score.settings import DecisionSettings, ModelSettings, ScoreSettings
from dissensus.pipeline.vet import vet
from dissensus.report import build

# Costs and texts are parsed by the command before the call; validation checks all questions.
DIFFERENT: Final = {"costs", "questions", "text"}


@pytest.mark.parametrize(
    ("function", "others"),
    [
        (analyse, [analyse_command, AnalysisSettings]),
        (build, [report_command]),
        (fit_model, [model_command, ModelOptions]),
        (ModelOptions, [report_command, aggregate_command]),
        (score_chatbots, [benchmark_command, ScoreSettings, score_models, compare_decisions]),
        (score_models, [benchmark_command, ModelSettings]),
        (compare_decisions, [benchmark_command, DecisionSettings]),
        (audit_judge, [audit_command, AuditSettings]),
        (vet, [vet_command]),
        (read_ratings, [validate]),
    ],
)
def test_an_option_has_one_default(function: Callable[..., Any], others: list[Callable[..., Any]]) -> None:
    defaults = read_defaults(function)
    for other in others:
        shared = {name: value for name, value in read_defaults(other).items() if name in defaults.keys() - DIFFERENT}
        assert shared
        assert shared == {name: defaults[name] for name in shared}


def read_defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of options; those that are empty are None."""
    options = inspect.signature(function).parameters.items()
    return {name: option.default or None for name, option in options if option.default is not inspect.Parameter.empty}
