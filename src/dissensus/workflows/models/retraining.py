"""Online retraining: train the next version of a registered model and promote it if it is not worse."""

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
from dissensus.files.models.folder import load_model, read_identity, save_model
from dissensus.files.models.registry import (
    RegisteredModel,
    RegistryEntry,
    append_entry,
    lock_for_change,
    lock_for_training,
    make_version_folder,
    open_registered_model,
    registered_model_folder,
)
from dissensus.files.pairs.reader import ReadPairs, join_pairs
from dissensus.files.pairs.votes import detect_purpose, read_pair_files
from dissensus.preference.data.pairs import Pair, Purpose, digest
from dissensus.preference.data.votes import filter_votes
from dissensus.preference.evaluation.promotion import HoldoutSplit, PromotionDecision, decide_promotion, split_holdout
from dissensus.preference.fit.training import TrainingPlan, train
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
    """Training data of a registered model."""

    read: ReadPairs  # pairs, and the number of comparisons that form none
    by_campaign: Mapping[str, int] = field(default_factory=dict)  # number of pairs by campaign
    from_files: int = 0  # number of pairs from files


def collect_comparisons(
    line: RegisteredModel, *, platform: Platform | None, files: Sequence[Path] = ()
) -> TrainingComparisons:
    """Return all training data of a registered model: preferences of its campaigns, and files."""
    purpose = line.terms.purpose
    for path in files:
        if detect_purpose(path) not in (purpose, None):
            raise NotAllowed(f"In {path} people chose by something else than what is {purpose}, as {line.name} does.")
    found = None if platform is None else collect_preferences(platform, line.name, line.terms.campaigns)
    parts = {} if found is None else _pairs_by_campaign(found, purpose)
    of_files = read_pair_files(files, purpose=purpose) if files else None
    if of_files is None and not any(part.pairs for part in parts.values()):
        raise NotFound(
            f"{_nothing_to_learn(line, found)} Open a campaign that names the model, or give files of pairs."
        )
    return TrainingComparisons(
        read=join_pairs([*parts.values(), *filter(None, [of_files])]),
        by_campaign={name: len(part.pairs) for name, part in parts.items() if part.pairs},
        from_files=0 if of_files is None else len(of_files.pairs),
    )


def _pairs_by_campaign(found: CampaignPreferences, purpose: Purpose) -> dict[str, ReadPairs]:
    """Return the pairs of each campaign; campaigns with another purpose have none."""
    return {
        name: ReadPairs(*filter_votes(preferences, found.people, purpose=purpose))
        for name, preferences in found.preferences.items()
    }


def _nothing_to_learn(line: RegisteredModel, found: CampaignPreferences | None) -> str:
    if found is None:
        return f"There is nothing that {line.name} could learn from."
    if not found.preferences:
        return f'No campaign names {line.name}: registered_models = ["{line.name}"].'
    return f"Nothing was preferred yet in campaigns that name {line.name}, of what is {line.terms.purpose}."


def retrain_model(
    folder: Path,
    comparisons_of: Callable[[RegisteredModel], TrainingComparisons],
    *,
    now: datetime,
    fewer: bool = False,
    seed: int = 0,
    progress: TrainingProgress | None = None,
    note: Callable[[RegistryEntry], object] = lambda _: None,
) -> RegistryEntry | None:
    """Train the next version of a registered model and promote it if it is non-inferior to the current one."""
    with lock_for_training(folder) as line:
        found = comparisons_of(line)
        pairs = found.read.pairs
        # Who chose has another id in each training.
        known = digest([replace(pair, rater=None) for pair in pairs])
        if any(one.found.get("comparisons_sha256") == known for one in list(line.trained.values())[-1:]):
            return None
        dealt = split_holdout(pairs)
        if not fewer:
            _check_enough(line, dealt)
        model = _train_version(line, dealt, found, seed=seed, progress=progress)
        place = make_version_folder(line)
        save_model(model, place)
        judge_in = _ModelComparison(model, dealt.apart)
        # What takes long is done before anybody is held up.
        judge_in(open_registered_model(folder))
        with lock_for_change(folder) as line:
            # Meanwhile it may have been rolled back: it is compared with what is current now.
            judged = judge_in(line)
            number = int(place.name)
            entry = RegistryEntry(
                at=now,
                what="promoted" if judged.promoted else "kept back",
                version=number,
                current=number if judged.promoted else line.current,
                why=judged.why,
                n_pairs=len(dealt.known),
                accuracy=judged.accuracy,
                difference=judged.difference,
                over_reference=judged.over_reference,
                sha256=read_identity(place).sha256,
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
            append_entry(line, entry)
        return entry


def _check_enough(line: RegisteredModel, dealt: HoldoutSplit) -> None:
    before = None if line.current is None else line.trained[line.current].n_pairs
    if before is not None and 2 * len(dealt.known) < before:
        raise InvalidInput(
            f"There are {len(dealt.known):,} pairs to train on, and the current version of {line.name} learned from "
            f"{before:,}. Give the files again that it learned from, or say that fewer may do (--fewer)."
        )


class _ModelComparison:
    """Compare a model with registered versions by their overall scores, which rank responses."""

    def __init__(self, model: AnyModel, apart: Sequence[Pair]) -> None:
        self._asked = [replace(pair, rater=None, group=None, groups=()) for pair in apart]
        self._apart = apart
        self._margins = model.margins(self._asked)
        self._known: dict[int, npt.NDArray[np.float64]] = {}

    def __call__(self, line: RegisteredModel) -> PromotionDecision:
        """Return the comparison for the current state of the registered model."""
        reference = None if line.reference == line.current else self._of(line, line.reference)
        current = self._of(line, line.current)
        return decide_promotion(self._apart, self._margins, current, reference=reference, rule=line.terms.rule)

    def _of(self, line: RegisteredModel, number: int | None) -> npt.NDArray[np.float64] | None:
        if number is not None and number not in self._known:
            self._known[number] = load_model(line.version(number)).margins(self._asked)
        return None if number is None else self._known[number]


def _train_version(
    line: RegisteredModel,
    dealt: HoldoutSplit,
    found: TrainingComparisons,
    *,
    seed: int,
    progress: TrainingProgress | None,
) -> AnyModel:
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
        plan=TrainingPlan.of(terms.kind, terms.counting),
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
) -> RegistryEntry | None:
    """Retrain a model on the preferences of a site's campaigns, and log it in their audit logs."""

    def note(entry: RegistryEntry) -> None:
        with platform.database.writing() as tx:
            _log_version(tx, entry, folder.name, now)

    known = partial(collect_comparisons, platform=platform, files=files)
    return retrain_model(folder, known, now=now, fewer=fewer, seed=seed, progress=progress, note=note)


def _log_version(tx: Connection, entry: RegistryEntry, line: str, now: datetime) -> None:
    by_campaign = entry.found["by_campaign"]
    for campaign_row in campaigns.list_campaigns(tx):
        if campaign_row.name in by_campaign:
            content = {"line": line, "version": entry.version, "promoted": entry.what == "promoted"}
            events.append_event(
                tx, campaign_row.id, "model_trained", {**content, "n": by_campaign[campaign_row.name]}, now=now
            )


class TrainingStopped(Exception):
    """Training was cancelled because the process ends."""


@dataclass(slots=True)
class RetrainingJob:
    """Recurring job that retrains the registered models named by campaigns."""

    folder: Path  # one folder per model
    every_h: int  # hours between attempts; 0 for never
    stopped: Event = field(default_factory=Event)  # cancels training when set
    _due: dict[str, datetime] = field(default_factory=dict)

    def __call__(self, platform: Platform, now: datetime) -> None:
        """Retrain each model that is due; a failure does not affect the others."""
        for name in _named_models(platform) if self.every_h else ():
            if now >= self._due.get(name, now):
                self._due[name] = now + timedelta(hours=self.every_h)
                self._try(platform, name, now)

    def _try(self, platform: Platform, name: str, now: datetime) -> None:
        try:
            # Another process may have let it learn not long ago.
            trained = [
                one.at for one in open_registered_model(registered_model_folder(self.folder, name)).trained.values()
            ]
            if trained and max(trained) + timedelta(hours=self.every_h) > now:
                self._due[name] = max(trained) + timedelta(hours=self.every_h)
                return
            entry = retrain_from_campaigns(
                platform, registered_model_folder(self.folder, name), now=now, progress=self._going_on
            )
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
    """Return the registered models that campaigns name."""
    with platform.database.reading() as tx:
        every = [
            platform.definitions.of(tx, campaign_row).registered_models for campaign_row in campaigns.list_campaigns(tx)
        ]
    return sorted({name for lines in every for name in lines})


def roll_back_model(folder: Path, to: int | None = None, *, why: str = "", now: datetime) -> RegistryEntry:
    """Make an earlier version of a registered model current again."""
    told = why.strip() or "Nobody said why."
    check_text(told, "The reason", MAX_REASON_LENGTH)
    with lock_for_change(folder) as line:
        number = _earlier_version(line) if to is None else to
        load_model(line.version(number))
        if number == line.current:
            raise Conflict(f"Version {number} of {line.name} is current already.")
        known = {"from": line.current}
        entry = RegistryEntry(at=now, what="rolled back", version=number, current=number, why=told, found=known)
        append_entry(line, entry)
        return entry


def _earlier_version(line: RegisteredModel) -> int:
    if line.before is None:
        current = "it has none" if line.current is None else f"before version {line.current} there was none"
        raise Conflict(f"There is no version to which {line.name} could go back: {current}. Name one: --to N.")
    return line.before
