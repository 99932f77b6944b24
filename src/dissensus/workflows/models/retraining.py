"""The online loop: a model line learns from all that was preferred so far, and its next version is promoted or not."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed, NotFound
from dissensus.files.models.folder import identity, load_model, save_model
from dissensus.files.models.registry import Entry, Line, add_entry, alone, changing, folder_of, next_version, read_line
from dissensus.files.pairs.reader import ReadPairs, joined
from dissensus.files.pairs.votes import purpose_in, read_all
from dissensus.preference.data.pairs import Pair, Purpose, digest
from dissensus.preference.data.votes import votes_among
from dissensus.preference.evaluation.promotion import Dealt, Judgement, deal, judge
from dissensus.preference.fit.training import Plan, train
from dissensus.preference.models.kinds import AnyModel
from dissensus.schema.records.conversation import check_text
from dissensus.store import campaigns, events
from dissensus.workflows.models.training_pairs import CampaignPreferences, collect_preferences
from dissensus.workflows.platform.platform import Platform

TrainingProgress = Callable[[float], None]

RETRY_AFTER: Final = timedelta(minutes=5)
MAX_REASON_LENGTH: Final = 2_000

log = logging.getLogger("dissensus.models")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingComparisons:
    """What a line learns from.

    Parameters
    ----------
    read
        Pairs, and how many comparisons make none.
    by_campaign
        How many pairs are of each campaign, by its name.
    from_files
        How many are of files.
    """

    read: ReadPairs
    by_campaign: Mapping[str, int] = field(default_factory=dict)
    from_files: int = 0


def collect_comparisons(line: Line, *, platform: Platform | None, files: Sequence[Path] = ()) -> TrainingComparisons:
    """Return all that a line can learn from: what campaigns that name it collected, and files."""
    purpose = line.terms.purpose
    for path in files:
        if purpose_in(path) not in (purpose, None):
            raise NotAllowed(f"In {path} people chose by something else than what is {purpose}, as {line.name} does.")
    found = None if platform is None else collect_preferences(platform, line.name, line.terms.campaigns)
    parts = {} if found is None else _pairs_by_campaign(found, purpose)
    of_files = read_all(files, purpose=purpose) if files else None
    if of_files is None and not any(part.pairs for part in parts.values()):
        raise NotFound(f"{_nothing_to_learn(line, found)} Open a campaign that names the line, or give files of pairs.")
    return TrainingComparisons(
        read=joined([*parts.values(), *filter(None, [of_files])]),
        by_campaign={name: len(part.pairs) for name, part in parts.items() if part.pairs},
        from_files=0 if of_files is None else len(of_files.pairs),
    )


def _pairs_by_campaign(found: CampaignPreferences, purpose: Purpose) -> dict[str, ReadPairs]:
    """Return the pairs of each campaign; one in which people were asked for something else has none."""
    return {
        name: ReadPairs(*votes_among(preferences, found.people, purpose=purpose))
        for name, preferences in found.preferences.items()
    }


def _nothing_to_learn(line: Line, found: CampaignPreferences | None) -> str:
    if found is None:
        return f"There is nothing that {line.name} could learn from."
    if not found.preferences:
        return f'No campaign names {line.name}: lines = ["{line.name}"].'
    return f"Nothing was preferred yet in campaigns that name {line.name}, of what is {line.terms.purpose}."


def retrain_model(
    folder: Path,
    comparisons_of: Callable[[Line], TrainingComparisons],
    *,
    now: datetime,
    fewer: bool = False,
    seed: int = 0,
    progress: TrainingProgress | None = None,
    note: Callable[[Entry], object] = lambda _: None,
) -> Entry | None:
    """Train the next version of a line, and promote it if it is shown to be no worse than the current one.

    The same is asked beside the reference, see `dissensus.files.models.registry.Line.reference`.
    """
    with alone(folder) as line:
        found = comparisons_of(line)
        pairs = found.read.pairs
        # Who chose has another id in each training.
        known = digest([replace(pair, rater=None) for pair in pairs])
        if any(one.found.get("comparisons_sha256") == known for one in list(line.trained.values())[-1:]):
            return None
        dealt = deal(pairs)
        if not fewer:
            _check_enough(line, dealt)
        model = _train_version(line, dealt, found, seed=seed, progress=progress)
        place = next_version(line)
        save_model(model, place)
        judge_in = _ModelComparison(model, dealt.apart)
        # What takes long is done before anybody is held up.
        judge_in(read_line(folder))
        with changing(folder) as line:
            # Meanwhile it may have been rolled back: it is compared with what is current now.
            judged = judge_in(line)
            number = int(place.name)
            entry = Entry(
                at=now,
                what="promoted" if judged.promoted else "kept back",
                version=number,
                current=number if judged.promoted else line.current,
                why=judged.why,
                n_pairs=len(dealt.known),
                accuracy=judged.accuracy,
                difference=judged.difference,
                over_reference=judged.over_reference,
                sha256=identity(place).sha256,
                found={
                    "against": line.current,
                    "reference": line.reference,
                    "comparisons_sha256": known,
                    "n_held_out": len(dealt.apart),
                    "by_campaign": dict(found.by_campaign),
                    "from_files": found.from_files,
                    "left_out": dict(found.read.excluded),
                },
            )
            note(entry)
            add_entry(line, entry)
        return entry


def _check_enough(line: Line, dealt: Dealt) -> None:
    before = None if line.current is None else line.trained[line.current].n_pairs
    if before is not None and 2 * len(dealt.known) < before:
        raise InvalidInput(
            f"There are {len(dealt.known):,} pairs to train on, and the current version of {line.name} learned from "
            f"{before:,}. Give the files again that it learned from, or say that fewer may do (--fewer)."
        )


class _ModelComparison:
    """Compares a model with versions of a line by what chooses responses: their scores for all people."""

    def __init__(self, model: AnyModel, apart: Sequence[Pair]) -> None:
        self._asked = [replace(pair, rater=None, group=None, groups=()) for pair in apart]
        self._apart = apart
        self._margins = model.margins(self._asked)
        self._known: dict[int, npt.NDArray[np.float64]] = {}

    def __call__(self, line: Line) -> Judgement:
        """Return what is made of it where the line is as it is."""
        reference = None if line.reference == line.current else self._of(line, line.reference)
        current = self._of(line, line.current)
        return judge(self._apart, self._margins, current, reference=reference, rule=line.terms.rule)

    def _of(self, line: Line, number: int | None) -> npt.NDArray[np.float64] | None:
        if number is not None and number not in self._known:
            self._known[number] = load_model(line.version(number)).margins(self._asked)
        return None if number is None else self._known[number]


def _train_version(line: Line, dealt: Dealt, found: TrainingComparisons, *, seed: int, progress: TrainingProgress | None) -> AnyModel:
    if not dealt.apart or not dealt.known:
        n = len({pair.dialogue for pair in found.read.pairs})
        raise InvalidInput(
            f"There are {len(found.read.pairs):,} pairs of {n:,} dialogues, of which {len(dealt.apart):,} pairs are "
            "held out (every fifth dialogue, told by a hash). Collect more before anything is trained."
        )
    terms = line.terms
    return train(
        dealt.known,
        purpose=terms.purpose,
        plan=Plan.of(terms.kind, terms.counting),
        apart=dealt.apart,
        excluded=found.read.excluded,
        seed=seed,
        progress=progress,
    )


def retrain_from_campaigns(
    platform: Platform,
    folder: Path,
    *,
    files: Sequence[Path] = (),
    now: datetime,
    fewer: bool = False,
    seed: int = 0,
    progress: TrainingProgress | None = None,
) -> Entry | None:
    """Train the next version of a line on what campaigns of a site collected, see `retrain_model`, and note it in their log."""

    def note(entry: Entry) -> None:
        with platform.database.writing() as tx:
            _log_version(tx, entry, folder.name, now)

    known = partial(collect_comparisons, platform=platform, files=files)
    return retrain_model(folder, known, now=now, fewer=fewer, seed=seed, progress=progress, note=note)


def _log_version(tx: Connection, entry: Entry, line: str, now: datetime) -> None:
    by_campaign = entry.found["by_campaign"]
    for kept in campaigns.all_campaigns(tx):
        if kept.name in by_campaign:
            content = {"line": line, "version": entry.version, "promoted": entry.what == "promoted"}
            events.record(tx, kept.id, "train", {**content, "n": by_campaign[kept.name]}, now=now)


class TrainingStopped(Exception):
    """Training is given up because the process ends."""


@dataclass(slots=True)
class RetrainingJob:
    """Lets the lines that campaigns name learn, again and again."""

    folder: Path  # It has a folder for each line
    every_h: int  # Hours between two tries; 0 for never
    stopped: Event = field(default_factory=Event)  # Training is given up once this is set
    _due: dict[str, datetime] = field(default_factory=dict)

    def __call__(self, platform: Platform, now: datetime) -> None:
        """Let each line learn for which it is time; one that cannot keeps no other from it."""
        for name in _named_models(platform) if self.every_h else ():
            if now >= self._due.get(name, now):
                self._due[name] = now + timedelta(hours=self.every_h)
                self._try(platform, name, now)

    def _try(self, platform: Platform, name: str, now: datetime) -> None:
        try:
            # Another process may have let it learn not long ago.
            trained = [one.at for one in read_line(folder_of(self.folder, name)).trained.values()]
            if trained and max(trained) + timedelta(hours=self.every_h) > now:
                self._due[name] = max(trained) + timedelta(hours=self.every_h)
                return
            entry = retrain_from_campaigns(platform, folder_of(self.folder, name), now=now, progress=self._going_on)
            log.info("The model line %s: %s", name, "nothing is new." if entry is None else entry.why)
        except Conflict as error:
            # Somebody else trains it now: what comes of that is looked at soon.
            self._due[name] = now + RETRY_AFTER
            log.info("The model line %s: %s", name, error)
        except DissensusError as error:
            log.warning("The model line %s did not learn: %s", name, error)
        except TrainingStopped:
            log.info("The model line %s did not learn: the process ends.", name)

    def _going_on(self, _: float) -> None:
        if self.stopped.is_set():
            raise TrainingStopped


def _named_models(platform: Platform) -> list[str]:
    """Return the lines that campaigns name."""
    with platform.database.reading() as tx:
        every = [platform.definitions.of(tx, kept).lines for kept in campaigns.all_campaigns(tx)]
    return sorted({name for lines in every for name in lines})


def roll_back_model(folder: Path, to: int | None = None, *, why: str = "", now: datetime) -> Entry:
    """Make an earlier version of a line current again."""
    told = why.strip() or "Nobody said why."
    check_text(told, "The reason", MAX_REASON_LENGTH)
    with changing(folder) as line:
        number = _earlier_version(line) if to is None else to
        load_model(line.version(number))
        if number == line.current:
            raise Conflict(f"Version {number} of {line.name} is current already.")
        known = {"from": line.current}
        entry = Entry(at=now, what="rolled back", version=number, current=number, why=told, found=known)
        add_entry(line, entry)
        return entry


def _earlier_version(line: Line) -> int:
    if line.before is None:
        current = "it has none" if line.current is None else f"before version {line.current} there was none"
        raise Conflict(f"There is no version to which {line.name} could go back: {current}. Name one: --to N.")
    return line.before
