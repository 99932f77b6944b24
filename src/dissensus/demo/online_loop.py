"""The online loop on drawn people of a known taste: what they prefer, what is learned of it, what that is worth."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from dissensus.chat import BestOfN, ScriptedBot, collect_response
from dissensus.chat.preference_scorer import scorer_from_model
from dissensus.demo.visitor import Visitor
from dissensus.files.models.folder import load_model
from dissensus.files.models.registry import Line, Terms, make_line, read_line
from dissensus.pipeline.simulate.latent import Floats
from dissensus.pipeline.simulate.preferences import SPOKEN_OF, WORDS, speaking_of
from dissensus.pipeline.simulate.scores import shuffled_scores
from dissensus.preference.evaluation.promotion import Rule
from dissensus.schema.campaign.chatbot import Script
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.proportion import Share, clustered_share
from dissensus.workflows.models.retraining import retrain_from_campaigns

if TYPE_CHECKING:
    from dissensus.chat import Bot
    from dissensus.files.models.registry import Entry
    from dissensus.preference.models.model import Model
    from dissensus.schema.campaign.definition import Campaign
    from dissensus.workflows.platform.platform import Platform

LINE: Final = "demo"
SAMPLES: Final = 16
RULE: Final = Rule(margin=0.1)
"""A wider margin than by default: so few people show no narrower one."""
RESPONSES: Final = 400
CONVERSATIONS: Final = 8
TURNS: Final = 1
TRIALS: Final = 500
"""Openings, and pairs of responses that nobody was shown, on which versions are measured."""
TASTE: Final = 1.5
"""Standard deviation of how much a word is liked, in log odds."""
SECONDS: Final = 10.0
COLUMNS: Final = ("phase", "version", "which was", "agrees with their taste", f"best of {SAMPLES} beats a single one")
PHASES: Final = ("base", "rejection-sampled", "online", "online")


def _scripts() -> tuple[Script, Script]:
    """Return what the chatbot may say to people, and what it may say in trials: no response is in both."""
    rng = np.random.default_rng(0)
    drawn = (frozenset(rng.choice(WORDS, SPOKEN_OF, replace=False).tolist()) for _ in range(10 * RESPONSES))
    different = [speaking_of(sorted(words)) for words in dict.fromkeys(drawn)][: 2 * RESPONSES]
    return Script(responses=tuple(different[:RESPONSES])), Script(responses=tuple(different[RESPONSES:]))


SCRIPT, TRIAL_SCRIPT = _scripts()
"""Each response speaks of some of `WORDS`."""


class Found(NamedTuple):
    """What was found after a phase.

    Parameters
    ----------
    phase
        In which people preferred.
    entry
        What became of the version that learned from it.
    agreement
        How often the current version prefers of two responses the one that people like more.
    won
        How often the best of `SAMPLES` responses by it is liked more than a single one.
    """

    phase: str
    entry: "Entry"
    agreement: Share
    won: Share

    def row(self) -> dict[str, str | int]:
        """Return it as a row of a table, with 95 % intervals."""
        shares = (f"{one.estimate:.2f} [{one.ci_low:.2f}, {one.ci_high:.2f}]" for one in (self.agreement, self.won))
        return dict(zip(COLUMNS, (self.phase, self.entry.version, self.entry.what, *shares), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Taste:
    """What all drawn people like.

    Parameters
    ----------
    weights
        How much each of `WORDS`, in log odds.
    """

    weights: Floats

    def liked(self, text: str) -> float:
        """Return how much a response is liked."""
        return float(sum(weight for word, weight in zip(WORDS, self.weights, strict=True) if word in text))

    def pick(self, a: str, b: str, rng: np.random.Generator) -> int:
        """Return what somebody says of two responses: 1 to 3 for b, less than 0 for a."""
        odds = self.liked(b) - self.liked(a) + float(rng.logistic())
        return (1 if odds > 0 else -1) * min(3, 1 + int(abs(odds)))


def drawn_taste(rng: np.random.Generator) -> Taste:
    """Draw what people like."""
    return Taste(TASTE * shuffled_scores(rng, len(WORDS)))


def campaign(phase: str) -> "Campaign":
    """Return the campaign of a phase, in which people talk with one chatbot and pick what is more helpful."""
    chatbot = base = {
        "name": "finch",
        "kind": "scripted",
        "model_type": "plain lm",
        "version": "1",
        "scripted": {"responses": list(SCRIPT.responses)},
    }
    if phase != "base":
        scorer = f"line:{LINE}" if phase == "online" else f"line:{LINE}/1"
        chatbot = {
            "name": "finch-best",
            "kind": "best_of_n",
            "model_type": "rejection sampling",
            "version": "1",
            "best_of_n": {"of": base, "scorer": scorer, "n": SAMPLES, "purpose": "helpful"},
        }
    mode = {"name": "helpful", "title": "Talk", "compared": "more helpful"}
    return parse_campaign(
        {
            "name": f"demo-{phase}",
            "languages": ["en"],
            "title": "Talk with a chatbot",
            "warning": "Nothing here is real.",
            "consent": {"text": "We keep it.", "purposes": [{"name": "use", "text": "To use it.", "required": True}]},
            "lines": [LINE],
            "chat": {"chatbots": [chatbot], "modes": [mode], "turns": TURNS, "most": 2 * CONVERSATIONS},
        }
    )


class Stage(NamedTuple):
    """Where the loop takes place.

    Parameters
    ----------
    platform
        Of the site.
    models
        Where the line goes.
    link_to
        Makes and opens a campaign, and gives the link to it.
    now
        Tells the time.
    """

    platform: "Platform"
    models: Path
    link_to: Callable[["Campaign"], str]
    now: Callable[[], datetime]


def run(stage: Stage, *, people: int, seed: int, picked: Callable[[], None]) -> Iterator[Found]:
    """Go through the loop, and yield what was found after each phase.

    Parameters
    ----------
    stage
        Where.
    people
        How many take part.
    seed
        Decides what they like and pick.
    picked
        Called after each pick.
    """
    taste = drawn_taste(np.random.default_rng(seed))
    line = make_line(stage.models / LINE, Terms(purpose="helpful", rule=RULE))
    with ExitStack() as browsers, ThreadPoolExecutor(4) as pool:
        visitors: dict[str, list[Visitor]] = {}
        for number, phase in enumerate(PHASES):
            if phase not in visitors:
                link = stage.link_to(campaign(phase))
                visitors[phase] = [browsers.enter_context(Visitor(link)) for _ in range(people)]
                for one in visitors[phase]:
                    one.enter(["use"], language="en")
            talks = [
                pool.submit(_talk, one, taste, (seed, number, place), picked)
                for place, one in enumerate(visitors[phase])
            ]
            for talk in talks:
                talk.result()
            entry = retrain_from_campaigns(stage.platform, line.folder, now=stage.now())
            if entry is not None:
                yield _measured(phase, entry, read_line(line.folder), taste)


def _talk(visitor: Visitor, taste: Taste, seed: Sequence[int], picked: Callable[[], None]) -> None:
    """Have some conversations."""
    rng = np.random.default_rng(seed)
    for _ in range(CONVERSATIONS):
        chat_id = visitor.begin("helpful", "")
        for _ in range(TURNS):
            found = visitor.say(chat_id, f"What shall we speak of? ({rng.integers(10**9)})", seconds=SECONDS)
            a, b = found["responses"]
            visitor.pick(found["exchange"], taste.pick(a, b, rng), seconds=SECONDS / 4)
            picked()
        visitor.end(chat_id, success=None)


def _measured(phase: str, entry: "Entry", line: Line, taste: Taste) -> Found:
    model = load_model(line.version(line.current or entry.version))
    return Found(phase, entry, agreement(model, taste), won(model, taste))


def agreement(model: "Model", taste: Taste) -> Share:
    """Return how often a model prefers, of two single responses, the one that people like more; a tie is half."""
    single, another = (drawn(ScriptedBot(script=TRIAL_SCRIPT), first) for first in (0, TRIALS))
    scores = [model.score(map(_talk_of, texts)) for texts in (single, another)]
    differ = np.sign([one[-1] - other[-1] for one, other in zip(*scores, strict=True)])
    truly = np.sign([taste.liked(one) - taste.liked(other) for one, other in zip(single, another, strict=True)])
    told = truly != 0
    return clustered_share((1 + differ * truly)[told] / 2, np.arange(TRIALS)[told])


def won(model: "Model", taste: Taste) -> Share:
    """Return how often the best of several responses is liked more than a single one to the same; a tie is half."""
    base = ScriptedBot(script=TRIAL_SCRIPT)
    best = drawn(BestOfN(bot=base, scorer=scorer_from_model(model), n=SAMPLES), 0)
    single = drawn(base, 0)
    differ = np.sign([taste.liked(one) - taste.liked(other) for one, other in zip(best, single, strict=True)])
    return clustered_share((1 + differ) / 2, np.arange(TRIALS))


def drawn(bot: "Bot", first: int) -> list[str]:
    """Return what a chatbot says to `TRIALS` openings."""

    async def say() -> list[str]:
        return [(await collect_response(bot, _opening(number), seed=number)).text for number in range(first, first + TRIALS)]

    return asyncio.run(say())


def _opening(number: int) -> Conversation:
    return Conversation.from_turns([("human", f"What shall we speak of? (trial {number})")])


def _talk_of(text: str) -> Conversation:
    return Conversation.from_turns([("human", "What shall we speak of?"), ("bot", text)])
