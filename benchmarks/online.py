"""Measure the online loop on simulated people with known preferences, and write docs/generated/online.md.

Run it with `.venv/bin/python benchmarks/online.py`; it takes no options and some ten minutes. People, chatbots and
phases are those of `dissensus demo`, without the site between them.
"""

import asyncio
import platform
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from dissensus.chat import collect_response, open_chatbot
from dissensus.demo import online_loop
from dissensus.files.models.folder import load_model
from dissensus.files.models.registry import RegisteredModel, RegistrationTerms, open_registered_model, register_model
from dissensus.files.pairs.reader import ReadPairs
from dissensus.preference.data.pairs import Pair
from dissensus.preference.evaluation.promotion import PromotionRule
from dissensus.schema.records.conversation import Conversation
from dissensus.workflows.models.retraining import TrainingComparisons, retrain_model
from dissensus.workflows.models.scorers import RankerCache

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "online.md"
SEEDS, EACH = 20, 200
"""Runs, and comparisons per phase, each of a separate dialogue."""
BASE_ALONE = ("base",) * len(online_loop.PHASES)


class PhaseResult(NamedTuple):
    """Results after a phase."""

    agreement: float
    won: float
    promoted: bool


def collect_pairs(taste: online_loop.Taste, phase: str, models: Path, rng: np.random.Generator) -> list[Pair]:
    """Return the pairs of a phase; two equal responses give no pair."""
    chat = online_loop.phase_campaign(phase).chat
    assert chat is not None

    async def talk() -> list[Pair]:
        pairs = []
        async with open_chatbot(chat.chatbots[0], environment={}, ranking=RankerCache(models).ranker) as bot:
            for _ in range(EACH):
                question = Conversation.from_turns([("human", f"What shall we speak of? ({rng.integers(2**40)})")])
                a, b = [(await collect_response(bot, question, seed=int(rng.integers(2**31)))).text for _ in "ab"]
                if a != b:
                    chosen, rejected = (b, a) if taste.pick(a, b, rng) > 0 else (a, b)
                    pairs.append(Pair(question.turns, chosen, rejected))
        return pairs

    return asyncio.run(talk())


def run_phases(phases: tuple[str, ...], seed: int, rule: PromotionRule) -> list[PhaseResult]:
    """Run phases, and return the results after each."""
    rng = np.random.default_rng(seed)
    taste, pairs, results = online_loop.simulate_taste(rng), [], []
    with TemporaryDirectory() as folder:
        models = Path(folder)
        line = register_model(models / online_loop.MODEL_NAME, RegistrationTerms(purpose="helpful", rule=rule))
        for phase in phases:
            pairs += collect_pairs(taste, phase, models, rng)
            entry = retrain_model(line.folder, partial(_all, tuple(pairs)), now=datetime.now(UTC))
            assert entry is not None
            now = open_registered_model(line.folder)
            model = load_model(now.version_folder(now.current or entry.version))
            shares = (
                online_loop.taste_agreement(model, taste).estimate,
                online_loop.best_of_n_win_rate(model, taste).estimate,
            )
            results.append(PhaseResult(*shares, entry.action == "promoted"))
    return results


def _all(pairs: tuple[Pair, ...], _: RegisteredModel) -> TrainingComparisons:
    return TrainingComparisons(read=ReadPairs(pairs, {}), from_files=len(pairs))


def over_seeds(values: list[float], *, sign: str = "") -> str:
    """Return the mean over seeds and its 95 % interval (normal)."""
    array = np.array(values)
    half_width = NormalDist().inv_cdf(0.975) * array.std(ddof=1) / np.sqrt(len(array))
    mean, low, high = (
        _short(value, sign) for value in (array.mean(), array.mean() - half_width, array.mean() + half_width)
    )
    return f"{mean} ({low} to {high})"


def _short(value: float, sign: str) -> str:
    """Return a number without a leading 0, to keep columns narrow."""
    return f"{value:{sign}.3f}".replace("0.", ".", 1)


def main() -> None:
    """Run the benchmark and write the page."""
    rows = []
    runs: dict[str, list[list[PhaseResult]]] = {"loop": [], "base": []}
    for seed in range(SEEDS):
        runs["loop"].append(run_phases(online_loop.PHASES, seed, online_loop.RULE))
        runs["base"].append(run_phases(BASE_ALONE, seed, online_loop.RULE))
        print(seed, runs["loop"][-1][-1], runs["base"][-1][-1], flush=True)
    for number, phase in enumerate(online_loop.PHASES):
        phase_results = {name: [run[number] for run in every] for name, every in runs.items()}
        cells = [
            over_seeds([one.agreement for one in phase_results["loop"]]),
            over_seeds([one.won for one in phase_results["loop"]]),
            f"{sum(one.promoted for one in phase_results['loop'])} of {SEEDS}",
            over_seeds(
                [a.agreement - b.agreement for a, b in zip(phase_results["loop"], phase_results["base"], strict=True)],
                sign="+",
            ),
        ]
        rows.append(f"| {phase} | {EACH * (number + 1):,} | {' | '.join(cells)} |")
    last = zip((run[-1] for run in runs["loop"]), (run[-1] for run in runs["base"]), strict=True)
    ahead = over_seeds([a.won - b.won for a, b in last], sign="+")
    samples, margin, trials = online_loop.N_SAMPLES, online_loop.RULE.margin, online_loop.N_TRIALS
    lines = [
        f"| After | Comparisons | Agreement with taste | Best of {samples} wins | Promoted | Agreement less base |",
        "|---|--:|--:|--:|--:|--:|",
        *rows,
        "",
        f"After all of it the best of {samples} wins by {ahead} more often than with as many comparisons of "
        "base alone.",
        "",
        f"Means over {SEEDS} seeds with 95 % intervals; a margin of {margin:g}; {trials} trials each. "
        f"Made by `benchmarks/online.py` with Dissensus {version('dissensus')} on Python {platform.python_version()}.",
    ]
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
