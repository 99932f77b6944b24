"""Measure the preference models that know of disagreement, and write docs/generated/disagreement.md.

Run it with `DISSENSUS_DATA=… .venv/bin/python benchmarks/disagreement.py`; it takes no options and some ten minutes.
People whose tastes are known come from `dissensus.simulate_preferences`; the real pairs are those of harmless-base.
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
from dissensus.preference.models.kinds import KINDS, AnyModel, KindOfModel
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.stats.cluster_robust import ClusteredEstimate

Floats = npt.NDArray[np.float64]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "disagreement.md"
KNOWN, UNKNOWN = 600, 600
"""Comparisons of which each is trained on, and on which groups are foretold."""

DIFFERENCES = (0.0, 0.5, 1.0, 1.5)
SEEDS, NULLS, FOLD_SEEDS = 10, 100, 3
KINDS_OF_MODEL: tuple[KindOfModel, ...] = ("linear", "mean-variance", "groups")
COUNTINGS = {
    "ignored": Weighting(),
    "as weight": Weighting(strength="weight"),
    "as margin": Weighting(strength="margin"),
    "ignored, soft labels": Weighting(soft=True),
}
AXIS, MEN, WOMEN = "rater_gender", "rater_gender=Man", "rater_gender=Woman"


def auroc(scores: Floats, positive: npt.NDArray[np.bool_]) -> float:
    """Return how often a positive case scores higher than another one, a tie as half."""
    less = scores[positive][:, None] - scores[~positive][None, :]
    return float(np.mean((np.sign(less) + 1) / 2))


def over_seeds(values: list[float], digits: int = 3) -> str:
    """Return the mean over seeds and its 95 % interval (normal)."""
    known = np.array(values)
    if np.isnan(known).any():
        return ""
    wide = NormalDist().inv_cdf(0.975) * known.std(ddof=1) / np.sqrt(len(known))
    return f"{known.mean():.{digits}f} ({known.mean() - wide:.{digits}f} – {known.mean() + wide:.{digits}f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Votes to train on, and comparisons of the same people with what is true of them."""

    votes: tuple[Pair, ...]
    fresh: tuple[Pair, ...]
    every: Floats
    men: Floats
    women: Floats

    @property
    def split(self) -> npt.NDArray[np.bool_]:
        """Whether men and women prefer different answers."""
        return np.sign(self.men) != np.sign(self.women)


def drawn(group_sd: float, seed: int, *, rater_sd: float = 0.3, known: int = KNOWN) -> Drawn:
    """Draw people and what they pick."""
    found = simulate_preferences(n_comparisons=known + UNKNOWN, group_sd=group_sd, rater_sd=rater_sd, seed=seed)
    people = read_people(found.raters)
    return Drawn(
        votes=collect_votes(found.preferences[:known], people, purpose="helpful").pairs,
        fresh=tuple(Pair(one.context, one.b, one.a) for one in found.preferences[known:]),
        every=found.odds()[known:],
        men=found.odds(MEN)[known:],
        women=found.odds(WOMEN)[known:],
    )


@dataclass(slots=True)
class Found:
    """What the models of one strength of differences find, a value for each seed."""

    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Note the value of one more seed."""
        self.values.setdefault(name, []).append(value)


def simulated(group_sd: float) -> Found:
    """Train all kinds on people of each seed, and compare them with the truth."""
    found = Found()
    for seed in range(SEEDS):
        people = drawn(group_sd, seed)
        for kind in KINDS_OF_MODEL:
            start = time.process_time()
            model = train(people.votes, purpose="helpful", plan=TrainingPlan(kind=kind))
            found.add(f"seconds of {kind}", time.process_time() - start)
            margins = model.margins(people.fresh)
            found.add(f"taste by {kind}", float(np.corrcoef(margins, people.every)[0, 1]))
            found.add(f"accuracy of {kind}", model.card["held_out"]["accuracy"]["estimate"])
            if people.split.any():
                found.add(f"close by {kind}", auroc(-np.abs(margins), people.split))
            differing(found, model, people)
    print(group_sd, {name: round(float(np.mean(values)), 3) for name, values in found.values.items()}, flush=True)
    return found


def differing(found: Found, model: AnyModel, people: Drawn) -> None:
    """Note what a model says of differences between people."""
    if isinstance(model, MeanVariance):
        found.add("r²", model.r_squared(answers(people.fresh)))
        if people.split.any():
            found.add("spread", auroc(model.disagreement(people.fresh), people.split))
    if isinstance(model, Groups):
        for axis in (AXIS, "rater_age", "rater_id"):
            found.add(f"effects of {axis}", float(axis in model.effects))
        if people.split.any():
            found.add("opposed", auroc(model.disagreement(people.fresh, AXIS), people.split))
            scores = model.spread(answers(people.fresh), AXIS)
            man, woman = (scores.scores[:, scores.groups.index(name)] for name in ("Man", "Woman"))
            apart = (woman - man)[0::2] - (woman - man)[1::2]
            found.add("recovered", float(np.corrcoef(apart, people.women - people.men)[0, 1]) if apart.any() else 0.0)
            found.add("gain", model.card["held_out"]["by_group"][0]["difference"]["estimate"])


def nulls() -> dict[str, int]:
    """Count in how many sets of people without any differences effects are found."""
    found = {AXIS: 0, "rater_age": 0, "rater_id": 0}
    for seed in range(NULLS):
        people = drawn(0.0, 1000 + seed, rater_sd=0.0, known=200)
        model = train(people.votes, purpose="helpful", plan=TrainingPlan(kind="groups"))
        effects = model.card["settings"]["effect_penalties"]
        for axis in found:
            found[axis] += axis in effects
    print(found, flush=True)
    return found


def countings() -> Iterator[str]:
    """Yield a row for each way in which strengths count."""
    found = Found()
    for seed in range(SEEDS):
        people = drawn(1.0, seed)
        for name, counting in COUNTINGS.items():
            model = train(people.votes, purpose="helpful", plan=TrainingPlan(counting=counting))
            found.add(f"taste {name}", float(np.corrcoef(model.margins(people.fresh), people.every)[0, 1]))
            found.add(f"loss {name}", model.card["held_out"]["log_loss"])
    for name in COUNTINGS:
        taste, loss = (over_seeds(found.values[f"{what} {name}"], 4) for what in ("taste", "loss"))
        yield f"| {name} | {taste} | {loss} |"


def apart(one: ClusteredEstimate, digits: int = 4) -> str:
    """Return a difference with its interval."""
    return f"{one.estimate:+.{digits}f} | {one.ci_low:+.{digits}f} – {one.ci_high:+.{digits}f}"


def real(pairs: tuple[Pair, ...]) -> Iterator[str]:
    """Yield rows of the mean–variance model beside the linear one, in folds of dialogues."""
    for seed in range(FOLD_SEEDS):
        tested, seconds = {}, {}
        for kind in KINDS_OF_MODEL[:2]:
            start = time.process_time()
            tested[kind] = cross_validate(pairs, plan=TrainingPlan(kind=kind), seed=seed)
            seconds[kind] = time.process_time() - start
        difference = compare_models(pairs, tested["mean-variance"].margins, tested["linear"].margins)
        for kind, one in tested.items():
            found = evaluate(pairs, one.margins, one.length)
            share = f"{found.accuracy.estimate:.3f} | {found.accuracy.ci_low:.3f} – {found.accuracy.ci_high:.3f}"
            yield f"| {seed} | {kind} | {share} | {found.log_loss:.4f} | {found.ece:.3f} | {seconds[kind]:.1f} |"
        yield f"| {seed} | difference of accuracy | {apart(difference.accuracy)} | | | |"
        yield f"| {seed} | difference of log-loss | {apart(difference.log_loss)} | | | |"
        print(seed, difference, seconds, flush=True)


def table(found: dict[float, Found], rows: dict[str, str]) -> Iterator[str]:
    """Yield a row for each figure, with a column for each strength of differences."""
    yield f"| | {' | '.join(f'{sd:g}' for sd in found)} |"
    yield f"|---|{'--:|' * len(found)}"
    for name, told in rows.items():
        cells = (_cell(name, one.values[name]) if name in one.values else "" for one in found.values())
        yield f"| {told} | {' | '.join(cells)} |"


def _cell(name: str, values: list[float]) -> str:
    return f"{sum(values):.0f} of {len(values)}" if name.startswith("effects") else over_seeds(values)


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    found = {group_sd: simulated(group_sd) for group_sd in DIFFERENCES}
    machine = f"Python {platform.python_version()}, NumPy {version('numpy')}, {platform.machine()}"
    seconds = {kind: np.mean([one for sd in found for one in found[sd].values[f"seconds of {kind}"]]) for kind in KINDS}
    yield "% Made by `benchmarks/disagreement.py`; do not edit."
    yield ""
    yield (
        f"{KNOWN} comparisons by 4 of 40 raters each, and {UNKNOWN} more on which what is true is foretold; means over "
        f"{SEEDS} seeds with 95 % intervals. Columns: standard deviation, in log odds, of what half of the words mean "
        "to women and, turned round, to men. Raters differ by 0.3 beside."
    )
    yield ""
    yield from table(
        found,
        {
            "recovered": "groups: correlation of found and true difference of women and men",
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
    found_there = ", ".join(f"`{axis}` in {count}" for axis, count in nulls().items())
    yield f"Where nobody differs at all, of {NULLS} sets of 200 comparisons, effects were found of {found_there}."
    yield ""
    yield "What strengths do, by the linear model on the same people (differences of 1):"
    yield ""
    yield "| Strength | Correlation with what all like | Log-loss on votes held out |"
    yield "|---|--:|--:|"
    yield from countings()
    yield ""
    source = Path(os.environ["DISSENSUS_DATA"]) / "hh-rlhf" / "harmless-base-test.jsonl.gz"
    yield "The real pairs of harmless-base in 5 folds of dialogues, with mean-variance less linear on the same pairs:"
    yield ""
    yield "| Seed | Model | Accuracy | 95 % interval | Log-loss | ECE | Seconds |"
    yield "|--:|---|--:|--:|--:|--:|--:|"
    pairs = read_pairs(source).pairs
    yield from real(pairs)
    yield ""
    model = train(pairs, purpose="harmless", plan=TrainingPlan(kind="mean-variance"))
    settings, held = model.card["settings"], model.card["held_out"]
    yield (
        f"Trained on all of them: r² = {held['r_squared']:.3f} on what was held out, by a penalty on the spread "
        f"{settings['spread_penalty']:g} times that on the mean."
    )


def main() -> None:
    """Run everything and write the page."""
    train(drawn(1.0, 0, known=60).votes, purpose="helpful", plan=TrainingPlan(kind="groups"))  # compiles
    PAGE.write_text("\n".join(page()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
