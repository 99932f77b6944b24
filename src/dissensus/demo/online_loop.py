"""Online learning loop with simulated people of known preferences: picks, retraining, evaluation."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dissensus.chat import BestOfN, Bot, ScriptedBot, collect_response
from dissensus.chat.best_of_n import scorer_from_model
from dissensus.demo.visitor import Visitor
from dissensus.files.models.folder import load_model
from dissensus.files.models.registry import (
    RegisteredModel,
    RegistrationTerms,
    RegistryEntry,
    open_registered_model,
    register_model,
)
from dissensus.pipeline.simulate.latent import shuffled_scores
from dissensus.pipeline.simulate.preferences import WORDS, WORDS_PER_RESPONSE, compose_response
from dissensus.preference.evaluation.promotion import PromotionRule
from dissensus.preference.models.model import Model
from dissensus.schema.campaign.chatbot import ScriptedResponses
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.cluster_robust import ClusteredEstimate, clustered_share
from dissensus.stats.result import FloatArray
from dissensus.workflows.models.retraining import retrain_from_campaigns
from dissensus.workflows.platform.platform import Platform

MODEL_NAME: Final = "demo"
N_SAMPLES: Final = 16
RULE: Final = PromotionRule(margin=0.1)
"""Rule with a wider margin than the default, for which the few people of the demo suffice."""
N_RESPONSES: Final = 400
N_CONVERSATIONS: Final = 8
N_TURNS: Final = 1
N_TRIALS: Final = 500
"""Number of unseen openings and pairs of responses on which each version is measured."""
TASTE_SD: Final = 1.5
"""Standard deviation of the weight of a word, in log odds."""
WRITING_S: Final = 10.0
"""Time that a simulated person reports for a message; a pick takes a quarter of it."""
COLUMNS: Final = ("phase", "version", "action", "agrees with their taste", f"best of {N_SAMPLES} beats a single one")
PHASES: Final = ("base", "rejection-sampled", "online", "online")


def _build_scripts() -> tuple[ScriptedResponses, ScriptedResponses]:
    """Return disjoint scripts for conversations and for trials."""
    rng = np.random.default_rng(0)
    word_sets = (
        frozenset(rng.choice(WORDS, WORDS_PER_RESPONSE, replace=False).tolist()) for _ in range(10 * N_RESPONSES)
    )
    texts = [compose_response(sorted(words)) for words in dict.fromkeys(word_sets)][: 2 * N_RESPONSES]
    return ScriptedResponses(responses=tuple(texts[:N_RESPONSES])), ScriptedResponses(
        responses=tuple(texts[N_RESPONSES:])
    )


SCRIPT, TRIAL_SCRIPT = _build_scripts()
"""Each response mentions some of `WORDS`."""


class PhaseResult(NamedTuple):
    """Measurements after a phase."""

    phase: str
    entry: RegistryEntry  # Version trained on the picks of the phase
    agreement: ClusteredEstimate  # Of the current version with the taste, on unseen pairs
    win_rate: ClusteredEstimate  # Of the best of `N_SAMPLES` responses over a single one

    def row(self) -> dict[str, str | int]:
        """Return a table row, with 95 % intervals."""
        shares = (
            f"{share.estimate:.2f} [{share.ci_low:.2f}, {share.ci_high:.2f}]"
            for share in (self.agreement, self.win_rate)
        )
        return dict(zip(COLUMNS, (self.phase, self.entry.version, self.entry.action, *shares), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Taste:
    """Preferences that all simulated people share: a weight for each word."""

    weights: FloatArray  # Of each of `WORDS`, in log odds

    def utility(self, text: str) -> float:
        """Return the utility of a response, in log odds."""
        return float(sum(weight for word, weight in zip(WORDS, self.weights, strict=True) if word in text))

    def pick(self, a: str, b: str, rng: np.random.Generator) -> int:
        """Draw a pick between two responses: 1 to 3 for b, −1 to −3 for a."""
        log_odds = self.utility(b) - self.utility(a) + float(rng.logistic())
        return (1 if log_odds > 0 else -1) * min(3, 1 + int(abs(log_odds)))


def simulate_taste(rng: np.random.Generator) -> Taste:
    """Draw the taste of the simulated people."""
    return Taste(TASTE_SD * shuffled_scores(rng, len(WORDS)))


def phase_campaign(phase: str) -> Campaign:
    """Return the campaign of a phase: one chatbot, and picks of the more helpful response."""
    chatbot = base = {
        "name": "finch",
        "kind": "scripted",
        "model_type": "plain lm",
        "version": "1",
        "scripted": {"responses": list(SCRIPT.responses)},
    }
    if phase != "base":
        scorer = f"registry:{MODEL_NAME}" if phase == "online" else f"registry:{MODEL_NAME}/1"
        chatbot = {
            "name": "finch-best",
            "kind": "best_of_n",
            "model_type": "rejection sampling",
            "version": "1",
            "best_of_n": {"chatbot": base, "scorer": scorer, "n": N_SAMPLES, "purpose": "helpful"},
        }
    mode = {"name": "helpful", "title": "Talk", "criterion": "more helpful"}
    return parse_campaign(
        {
            "name": f"demo-{phase}",
            "languages": ["en"],
            "title": "Talk with a chatbot",
            "warning": "Nothing here is real.",
            "consent": {"text": "We keep it.", "purposes": [{"name": "use", "text": "To use it.", "required": True}]},
            "registered_models": [MODEL_NAME],
            "chat": {
                "chatbots": [chatbot],
                "modes": [mode],
                "turns": N_TURNS,
                "max_conversations": 2 * N_CONVERSATIONS,
            },
        }
    )


class LoopSite(NamedTuple):
    """Platform, model registry and clock of the loop."""

    platform: Platform
    models: Path  # Folder of the model registry
    open_campaign: Callable[[Campaign], str]  # Creates and opens a campaign, and returns its entry link
    now: Callable[[], datetime]


def run_online_loop(
    site: LoopSite,
    *,
    people: int,
    seed: int,
    on_step: Callable[[str], None],
    on_progress: Callable[[float], None],
) -> Iterator[PhaseResult]:
    """Run the loop, and yield the measurements after each phase.

    `on_step` is called with the name of each step, and `on_progress` with its completed share.
    """
    taste = simulate_taste(np.random.default_rng(seed))
    registered = register_model(site.models / MODEL_NAME, RegistrationTerms(purpose="helpful", rule=RULE))
    with ExitStack() as browsers, ThreadPoolExecutor(4) as pool:
        visitors: dict[str, list[Visitor]] = {}
        for number, phase in enumerate(PHASES):
            picks = f"Picks {number + 1} of {len(PHASES)} ({phase})"
            on_step(picks)
            done = count(1)

            def count_pick(done: Iterator[int] = done) -> None:
                on_progress(next(done) / (people * N_CONVERSATIONS * N_TURNS))

            if phase not in visitors:
                link = site.open_campaign(phase_campaign(phase))
                visitors[phase] = [browsers.enter_context(Visitor(link)) for _ in range(people)]
                for visitor in visitors[phase]:
                    visitor.enter(["use"], language="en")
            talks = [
                pool.submit(_hold_conversations, visitor, taste, (seed, number, position), count_pick)
                for position, visitor in enumerate(visitors[phase])
            ]
            for talk in talks:
                talk.result()
            on_step(f"{picks}: learning and measuring")
            entry = retrain_from_campaigns(site.platform, registered.folder, now=site.now())
            if entry is not None:
                yield _measure_phase(phase, entry, open_registered_model(registered.folder), taste)


def _hold_conversations(visitor: Visitor, taste: Taste, seed: Sequence[int], on_pick: Callable[[], None]) -> None:
    """Hold `N_CONVERSATIONS` conversations; `on_pick` is called after each pick."""
    rng = np.random.default_rng(seed)
    for _ in range(N_CONVERSATIONS):
        chat_id = visitor.begin("helpful", "")
        for _ in range(N_TURNS):
            chat = visitor.say(chat_id, f"What shall we speak of? ({rng.integers(10**9)})", seconds=WRITING_S)
            a, b = chat["responses"]
            visitor.pick(chat["exchange"], taste.pick(a, b, rng), seconds=WRITING_S / 4)
            on_pick()
        visitor.end(chat_id, success=None)


def _measure_phase(phase: str, entry: RegistryEntry, registered: RegisteredModel, taste: Taste) -> PhaseResult:
    model = load_model(registered.version_folder(registered.current or entry.version))
    return PhaseResult(phase, entry, taste_agreement(model, taste), best_of_n_win_rate(model, taste))


def taste_agreement(model: Model, taste: Taste) -> ClusteredEstimate:
    """Return the share of pairs of unequal utility in which a model prefers the better one; its ties count half."""
    single, other_single = (sample_responses(ScriptedBot(script=TRIAL_SCRIPT), first) for first in (0, N_TRIALS))
    scores = [model.score(map(_trial_conversation, texts)) for texts in (single, other_single)]
    preferred = np.sign([one[-1] - other[-1] for one, other in zip(*scores, strict=True)])
    utility = np.sign(
        [taste.utility(one) - taste.utility(other) for one, other in zip(single, other_single, strict=True)]
    )
    is_unequal = utility != 0
    return clustered_share((1 + preferred * utility)[is_unequal] / 2, np.arange(N_TRIALS)[is_unequal])


def best_of_n_win_rate(model: Model, taste: Taste) -> ClusteredEstimate:
    """Return the share of trials in which the best of `N_SAMPLES` responses beats a single one; a tie counts half."""
    base = ScriptedBot(script=TRIAL_SCRIPT)
    best = sample_responses(BestOfN(bot=base, scorer=scorer_from_model(model), n=N_SAMPLES), 0)
    single = sample_responses(base, 0)
    preferred = np.sign([taste.utility(one) - taste.utility(other) for one, other in zip(best, single, strict=True)])
    return clustered_share((1 + preferred) / 2, np.arange(N_TRIALS))


def sample_responses(bot: Bot, first: int) -> list[str]:
    """Return the responses of a chatbot to `N_TRIALS` openings."""

    async def collect() -> list[str]:
        return [
            (await collect_response(bot, _opening_conversation(number), seed=number)).text
            for number in range(first, first + N_TRIALS)
        ]

    return asyncio.run(collect())


def _opening_conversation(number: int) -> Conversation:
    return Conversation.from_turns([("human", f"What shall we speak of? (trial {number})")])


def _trial_conversation(text: str) -> Conversation:
    return Conversation.from_turns([("human", "What shall we speak of?"), ("bot", text)])
