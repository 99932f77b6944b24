"""Measure the preference models of disagreement, and write docs/generated/disagreement.md.

Run it with `DISSENSUS_DATA=… .venv/bin/python benchmarks/disagreement.py`; it takes no options and some ten minutes.
Simulated people with known preferences come from `dissensus.simulate_preferences`; the real pairs are harmless-base.
"""

import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dissensus.files.pairs.reader import read_pairs
from dissensus.files.pairs.votes import read_people
from dissensus.pipeline.simulate import simulate_preferences
from dissensus.preference.data.pairs import Pair, answers
from dissensus.preference.data.votes import collect_votes
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.evaluation.paired import compare_models
from dissensus.preference.fit.training import TrainingPlan, cross_validate, train
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.kinds import AnyModel, KindOfModel
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.stats.cluster_robust import ClusteredEstimate

Floats = npt.NDArray[np.float64]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "disagreement.md"
KNOWN, UNKNOWN = 600, 600
"""Training comparisons, and fresh comparisons on which groups are predicted."""

DIFFERENCES = (0.0, 0.5, 1.0, 1.5)
SEEDS, NULLS, FOLD_SEEDS = 10, 100, 3
KINDS_OF_MODEL: tuple[KindOfModel, ...] = ("linear", "mean-variance", "groups")
WEIGHTINGS = {
    "ignored": Weighting(),
    "as weight": Weighting(strength="weight"),
    "as margin": Weighting(strength="margin"),
    "ignored, soft labels": Weighting(soft=True),
}
AXIS, MEN, WOMEN = "rater_gender", "rater_gender=Man", "rater_gender=Woman"


def auroc(scores: Floats, positive: npt.NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve; a tie counts as half."""
    less = scores[positive][:, None] - scores[~positive][None, :]
    return float(np.mean((np.sign(less) + 1) / 2))


def over_seeds(values: list[float], digits: int = 3) -> str:
    """Return the mean over seeds and its 95 % interval (normal)."""
    array = np.array(values)
    if np.isnan(array).any():
        return ""
    half_width = NormalDist().inv_cdf(0.975) * array.std(ddof=1) / np.sqrt(len(array))
    return (
        f"{array.mean():.{digits}f} ({array.mean() - half_width:.{digits}f} – {array.mean() + half_width:.{digits}f})"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPeople:
    """Training votes, and fresh comparisons of the same people with their true log odds."""

    votes: tuple[Pair, ...]
    fresh: tuple[Pair, ...]
    every: Floats
    men: Floats
    women: Floats

    @property
    def split(self) -> npt.NDArray[np.bool_]:
        """True where men and women prefer different answers."""
        return np.sign(self.men) != np.sign(self.women)


def simulate_people(group_sd: float, seed: int, *, rater_sd: float = 0.3, n_training: int = KNOWN) -> SimulatedPeople:
    """Simulate people and their picks."""
    simulation = simulate_preferences(
        n_comparisons=n_training + UNKNOWN, group_sd=group_sd, rater_sd=rater_sd, seed=seed
    )
    people = read_people(simulation.raters)
    return SimulatedPeople(
        votes=collect_votes(simulation.preferences[:n_training], people, purpose="helpful").pairs,
        fresh=tuple(Pair(one.context, one.b, one.a) for one in simulation.preferences[n_training:]),
        every=simulation.log_odds()[n_training:],
        men=simulation.log_odds(MEN)[n_training:],
        women=simulation.log_odds(WOMEN)[n_training:],
    )


@dataclass(slots=True)
class SeedValues:
    """Results for one size of group differences, one value per seed."""

    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Add the value of another seed."""
        self.values.setdefault(name, []).append(value)


def evaluate_kinds(group_sd: float) -> SeedValues:
    """Train all kinds on simulated people, and compare them with the truth."""
    results = SeedValues()
    for seed in range(SEEDS):
        people = simulate_people(group_sd, seed)
        for kind in KINDS_OF_MODEL:
            start = time.process_time()
            model = train(people.votes, purpose="helpful", plan=TrainingPlan(kind=kind))
            results.add(f"seconds of {kind}", time.process_time() - start)
            margins = model.margins(people.fresh)
            results.add(f"taste by {kind}", float(np.corrcoef(margins, people.every)[0, 1]))
            results.add(f"accuracy of {kind}", model.card["held_out"]["accuracy"]["estimate"])
            if people.split.any():
                results.add(f"close by {kind}", auroc(-np.abs(margins), people.split))
            add_disagreement(results, model, people)
    print(group_sd, {name: round(float(np.mean(values)), 3) for name, values in results.values.items()}, flush=True)
    return results


def add_disagreement(results: SeedValues, model: AnyModel, people: SimulatedPeople) -> None:
    """Add the disagreement that a model predicts."""
    if isinstance(model, MeanVariance):
        results.add("r²", model.r_squared(answers(people.fresh)))
        if people.split.any():
            results.add("spread", auroc(model.disagreement(people.fresh), people.split))
    if isinstance(model, Groups):
        for axis in (AXIS, "rater_age", "rater_id"):
            results.add(f"effects of {axis}", float(axis in model.effects))
        if people.split.any():
            results.add("opposed", auroc(model.disagreement(people.fresh, AXIS), people.split))
            scores = model.spread(answers(people.fresh), AXIS)
            man, woman = (scores.scores[:, scores.groups.index(name)] for name in ("Man", "Woman"))
            difference = (woman - man)[0::2] - (woman - man)[1::2]
            results.add(
                "recovered",
                float(np.corrcoef(difference, people.women - people.men)[0, 1]) if difference.any() else 0.0,
            )
            results.add("gain", model.card["held_out"]["by_group"][0]["difference"]["estimate"])


def count_null_effects() -> dict[str, int]:
    """Count the data sets without differences in which effects are detected."""
    counts = {AXIS: 0, "rater_age": 0, "rater_id": 0}
    for seed in range(NULLS):
        people = simulate_people(0.0, 1000 + seed, rater_sd=0.0, n_training=200)
        model = train(people.votes, purpose="helpful", plan=TrainingPlan(kind="groups"))
        effects = model.card["settings"]["effect_penalties"]
        for axis in counts:
            counts[axis] += axis in effects
    print(counts, flush=True)
    return counts


def compare_weightings() -> Iterator[str]:
    """Yield a row for each weighting of strengths."""
    results = SeedValues()
    for seed in range(SEEDS):
        people = simulate_people(1.0, seed)
        for name, weighting in WEIGHTINGS.items():
            model = train(people.votes, purpose="helpful", plan=TrainingPlan(weighting=weighting))
            results.add(f"taste {name}", float(np.corrcoef(model.margins(people.fresh), people.every)[0, 1]))
            results.add(f"loss {name}", model.card["held_out"]["log_loss"])
    for name in WEIGHTINGS:
        taste, loss = (over_seeds(results.values[f"{measure} {name}"], 4) for measure in ("taste", "loss"))
        yield f"| {name} | {taste} | {loss} |"


def format_difference(estimate: ClusteredEstimate, digits: int = 4) -> str:
    """Return a difference with its interval."""
    return f"{estimate.estimate:+.{digits}f} | {estimate.ci_low:+.{digits}f} – {estimate.ci_high:+.{digits}f}"


def compare_on_real_pairs(pairs: tuple[Pair, ...]) -> Iterator[str]:
    """Yield cross-validated rows of the mean-variance and the linear model."""
    for seed in range(FOLD_SEEDS):
        tested, seconds = {}, {}
        for kind in KINDS_OF_MODEL[:2]:
            start = time.process_time()
            tested[kind] = cross_validate(pairs, plan=TrainingPlan(kind=kind), seed=seed)
            seconds[kind] = time.process_time() - start
        difference = compare_models(pairs, tested["mean-variance"].margins, tested["linear"].margins)
        for kind, result in tested.items():
            evaluation = evaluate(pairs, result.margins, result.length)
            accuracy = evaluation.accuracy
            share = f"{accuracy.estimate:.3f} | {accuracy.ci_low:.3f} – {accuracy.ci_high:.3f}"
            losses = f"{evaluation.log_loss:.4f} | {evaluation.ece:.3f}"
            yield f"| {seed} | {kind} | {share} | {losses} | {seconds[kind]:.1f} |"
        yield f"| {seed} | difference of accuracy | {format_difference(difference.accuracy)} | | | |"
        yield f"| {seed} | difference of log-loss | {format_difference(difference.log_loss)} | | | |"
        print(seed, difference, seconds, flush=True)


def table(results: dict[float, SeedValues], rows: dict[str, str]) -> Iterator[str]:
    """Yield a row for each figure, with a column for each size of group differences."""
    yield f"| | {' | '.join(f'{sd:g}' for sd in results)} |"
    yield f"|---|{'--:|' * len(results)}"
    for name, label in rows.items():
        cells = (_cell(name, one.values[name]) if name in one.values else "" for one in results.values())
        yield f"| {label} | {' | '.join(cells)} |"


def _cell(name: str, values: list[float]) -> str:
    return f"{sum(values):.0f} of {len(values)}" if name.startswith("effects") else over_seeds(values)


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    pairs = read_pairs(Path(os.environ["DISSENSUS_DATA"]) / "hh-rlhf" / "harmless-base-test.jsonl.gz").pairs
    results = {group_sd: evaluate_kinds(group_sd) for group_sd in DIFFERENCES}
    machine = f"Python {platform.python_version()}, NumPy {version('numpy')}, {platform.machine()}"
    seconds = {
        kind: np.mean([one for sd in results for one in results[sd].values[f"seconds of {kind}"]])
        for kind in KINDS_OF_MODEL
    }
    yield "% Made by `benchmarks/disagreement.py`; do not edit."
    yield ""
    yield (
        f"{KNOWN} comparisons by 4 of 40 raters each for training, and {UNKNOWN} more for evaluation; means over "
        f"{SEEDS} seeds with 95 % intervals. Columns: standard deviation, in log odds, of the weights of half of the "
        "words for women, which have the opposite sign for men. Raters differ by a further 0.3."
    )
    yield ""
    yield from table(
        results,
        {
            "recovered": "groups: correlation of estimated and true difference of women and men",
            "opposed": "groups: AUROC of pairs on which women and men prefer different answers",
            "spread": "mean-variance: the same by the spread",
            "close by mean-variance": "mean-variance: the same by how close its choice is",
            "close by linear": "linear: the same by how close its choice is",
            "r²": "mean-variance: r²",
            "accuracy of linear": "linear: accuracy on votes held out",
            "accuracy of mean-variance": "mean-variance: the same",
            "accuracy of groups": "groups: the same",
            "gain": "groups: gain of accuracy by the groups of raters",
            "taste by linear": "linear: correlation with what all like",
            "taste by mean-variance": "mean-variance: the same",
            "effects of rater_gender": "groups: seeds in which effects of gender were found",
            "effects of rater_age": "groups: the same of age, which nobody differs by",
            "effects of rater_id": "groups: the same of raters, who differ little",
        },
    )
    yield ""
    yield (
        "Seconds of CPU time to train, card included: "
        + ", ".join(f"{kind} {seconds[kind]:.1f}" for kind in KINDS_OF_MODEL)
        + f" ({machine})."
    )
    yield ""
    effect_counts = ", ".join(f"`{axis}` in {count}" for axis, count in count_null_effects().items())
    yield f"Where nobody differs at all, of {NULLS} sets of 200 comparisons, effects were found of {effect_counts}."
    yield ""
    yield "What strengths do, by the linear model on the same people (differences of 1):"
    yield ""
    yield "| Strength | Correlation with what all like | Log-loss on votes held out |"
    yield "|---|--:|--:|"
    yield from compare_weightings()
    yield ""
    yield "The real pairs of harmless-base in 5 folds of dialogues, with mean-variance less linear on the same pairs:"
    yield ""
    yield "| Seed | Model | Accuracy | 95 % interval | Log-loss | ECE | Seconds |"
    yield "|--:|---|--:|--:|--:|--:|--:|"
    yield from compare_on_real_pairs(pairs)
    yield ""
    model = train(pairs, purpose="harmless", plan=TrainingPlan(kind="mean-variance"))
    settings, held_out = model.card["settings"], model.card["held_out"]
    yield (
        f"Trained on all of them: r² = {held_out['r_squared']:.3f} on what was held out, by a penalty on the spread "
        f"{settings['spread_penalty']:g} times that on the mean."
    )


def main() -> None:
    """Run everything and write the page."""
    train(simulate_people(1.0, 0, n_training=60).votes, purpose="helpful", plan=TrainingPlan(kind="groups"))  # compiles
    PAGE.write_text("\n".join(page()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
