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
from dissensus.preference.data.holdout_split import HoldoutSplit, split_holdout
from dissensus.preference.data.pairs import Pair, Purpose, digest
from dissensus.preference.data.votes import filter_votes
from dissensus.preference.evaluation.promotion import PromotionDecision, decide_promotion
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.preference.models.kinds import AnyModel
from dissensus.schema.records.conversation import check_text
from dissensus.store import audit_log, campaigns
from dissensus.workflows.models.training_pairs import CampaignPreferences, collect_preferences
from dissensus.workflows.platform.platform import Platform

TrainingProgress = Callable[[float], None]

RETRY_AFTER: Final = timedelta(minutes=5)
MAX_REASON_LENGTH: Final = 2_000

log = logging.getLogger("dissensus.models")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingComparisons:
    """Training data of a registered model."""

    read: ReadPairs  # pairs, and the number of comparisons without a pair
    by_campaign: Mapping[str, int] = field(default_factory=dict)  # number of pairs by campaign
    from_files: int = 0  # number of pairs from files


def collect_comparisons(
    registered_model: RegisteredModel, *, platform: Platform | None, files: Sequence[Path] = ()
) -> TrainingComparisons:
    """Return all training data of a registered model: preferences of its campaigns, and files."""
    purpose = registered_model.terms.purpose
    for path in files:
        if detect_purpose(path) not in (purpose, None):
            raise NotAllowed(
                f"The pairs in {path} have another purpose than {registered_model.name}, which is {purpose}."
            )
    collected = (
        None
        if platform is None
        else collect_preferences(platform, registered_model.name, registered_model.terms.campaigns)
    )
    by_campaign = {} if collected is None else _pairs_by_campaign(collected, purpose)
    from_files = read_pair_files(files, purpose=purpose) if files else None
    if from_files is None and not any(part.pairs for part in by_campaign.values()):
        raise NotFound(
            f"{_describe_lack(registered_model, collected)} "
            "Open a campaign that names the model, or give files of pairs."
        )
    return TrainingComparisons(
        read=join_pairs([*by_campaign.values(), *filter(None, [from_files])]),
        by_campaign={name: len(part.pairs) for name, part in by_campaign.items() if part.pairs},
        from_files=0 if from_files is None else len(from_files.pairs),
    )


def _pairs_by_campaign(collected: CampaignPreferences, purpose: Purpose) -> dict[str, ReadPairs]:
    """Return the pairs of each campaign; campaigns with another purpose have none."""
    return {
        name: ReadPairs(*filter_votes(preferences, collected.raters, purpose=purpose))
        for name, preferences in collected.preferences.items()
    }


def _describe_lack(registered_model: RegisteredModel, collected: CampaignPreferences | None) -> str:
    if collected is None:
        return f"There are no training data for {registered_model.name}."
    if not collected.preferences:
        return f'No campaign names {registered_model.name}: registered_models = ["{registered_model.name}"].'
    return (
        f"There are no {registered_model.terms.purpose} preferences yet in campaigns that name {registered_model.name}."
    )


def retrain_model(
    folder: Path,
    comparisons_of: Callable[[RegisteredModel], TrainingComparisons],
    *,
    now: datetime,
    allow_fewer: bool = False,
    seed: int = 0,
    progress: TrainingProgress | None = None,
    log_entry: Callable[[RegistryEntry], object] = lambda _: None,
) -> RegistryEntry | None:
    """Train the next version of a registered model and promote it if it is non-inferior to the current one."""
    with lock_for_training(folder) as registered_model:
        comparisons = comparisons_of(registered_model)
        pairs = comparisons.read.pairs
        # Without raters, whose pseudonyms differ in each training.
        sha256 = digest([replace(pair, rater=None) for pair in pairs])
        if any(
            entry.extra.get("comparisons_sha256") == sha256
            for entry in list(registered_model.trained_versions.values())[-1:]
        ):
            return None
        split = split_holdout(pairs)
        if not allow_fewer:
            _check_enough_pairs(registered_model, split)
        model = _train_version(registered_model, split, comparisons, seed=seed, progress=progress)
        version_folder = make_version_folder(registered_model)
        save_model(model, version_folder)
        compare = _ModelComparison(model, split.held_out)
        # Compute the margins before the lock, since they take long.
        compare(open_registered_model(folder))
        with lock_for_change(folder) as registered_model:
            # Compare again, since another version may have become current meanwhile.
            decision = compare(registered_model)
            number = int(version_folder.name)
            entry = RegistryEntry(
                at=now,
                action="promoted" if decision.promoted else "kept back",
                version=number,
                current=number if decision.promoted else registered_model.current,
                reason=decision.reason,
                n_pairs=len(split.training),
                accuracy=decision.accuracy,
                difference=decision.difference,
                over_reference=decision.over_reference,
                sha256=read_identity(version_folder).sha256,
                extra={
                    "against": registered_model.current,
                    "reference": registered_model.reference,
                    "comparisons_sha256": sha256,
                    "n_held_out": len(split.held_out),
                    "by_campaign": dict(comparisons.by_campaign),
                    "from_files": comparisons.from_files,
                    "left_out": dict(comparisons.read.excluded),
                },
            )
            log_entry(entry)
            append_entry(registered_model, entry)
        return entry


def _check_enough_pairs(registered_model: RegisteredModel, split: HoldoutSplit) -> None:
    n_before = (
        None
        if registered_model.current is None
        else registered_model.trained_versions[registered_model.current].n_pairs
    )
    if n_before is not None and 2 * len(split.training) < n_before:
        raise InvalidInput(
            f"There are {len(split.training):,} pairs to train on, and the current version of {registered_model.name} "
            f"learned from {n_before:,}. Give the files again that it learned from, or allow fewer pairs (--fewer)."
        )


class _ModelComparison:
    """Compare a model with registered versions by their overall scores, which rank responses."""

    def __init__(self, model: AnyModel, held_out: Sequence[Pair]) -> None:
        self._held_out = held_out
        self._without_raters = [replace(pair, rater=None, group=None, groups=()) for pair in held_out]
        self._margins = model.margins(self._without_raters)
        self._version_margins: dict[int, npt.NDArray[np.float64]] = {}

    def __call__(self, registered_model: RegisteredModel) -> PromotionDecision:
        """Return the comparison for the current state of the registered model."""
        reference = (
            None
            if registered_model.reference == registered_model.current
            else self._margins_of(registered_model, registered_model.reference)
        )
        current = self._margins_of(registered_model, registered_model.current)
        return decide_promotion(
            self._held_out, self._margins, current, reference=reference, rule=registered_model.terms.rule
        )

    def _margins_of(self, registered_model: RegisteredModel, number: int | None) -> npt.NDArray[np.float64] | None:
        if number is None:
            return None
        if number not in self._version_margins:
            self._version_margins[number] = load_model(registered_model.version_folder(number)).margins(
                self._without_raters
            )
        return self._version_margins[number]


def _train_version(
    registered_model: RegisteredModel,
    split: HoldoutSplit,
    comparisons: TrainingComparisons,
    *,
    seed: int,
    progress: TrainingProgress | None,
) -> AnyModel:
    pairs = comparisons.read.pairs
    if not split.held_out or not split.training:
        n = len({pair.dialogue for pair in pairs})
        raise InvalidInput(
            f"There are {len(pairs):,} pairs of {n:,} dialogues; {len(split.held_out):,} of the pairs are held out "
            "(every fifth dialogue, by a hash). Collect more before training."
        )
    terms = registered_model.terms
    return train(
        split.training,
        purpose=terms.purpose,
        plan=TrainingPlan.for_kind(terms.kind, terms.weighting),
        apart=split.held_out,
        excluded=comparisons.read.excluded,
        seed=seed,
        progress=progress,
    )


def retrain_from_campaigns(
    platform: Platform,
    folder: Path,
    *,
    files: Sequence[Path] = (),
    now: datetime,
    allow_fewer: bool = False,
    seed: int = 0,
    progress: TrainingProgress | None = None,
) -> RegistryEntry | None:
    """Retrain a model on the preferences of a site's campaigns, and log it in their audit logs."""

    def log_entry(entry: RegistryEntry) -> None:
        with platform.database.writing() as tx:
            _log_version(tx, entry, folder.name, now)

    collect = partial(collect_comparisons, platform=platform, files=files)
    return retrain_model(
        folder, collect, now=now, allow_fewer=allow_fewer, seed=seed, progress=progress, log_entry=log_entry
    )


def _log_version(tx: Connection, entry: RegistryEntry, model_name: str, now: datetime) -> None:
    by_campaign = entry.extra["by_campaign"]
    for campaign_row in campaigns.list_campaigns(tx):
        if campaign_row.name in by_campaign:
            content = {"registered_model": model_name, "version": entry.version, "promoted": entry.action == "promoted"}
            audit_log.append_event(
                tx, campaign_row.id, "model_trained", {**content, "n": by_campaign[campaign_row.name]}, now=now
            )


class TrainingStopped(Exception):
    """Training was cancelled because the process ends."""


@dataclass(slots=True)
class RetrainingJob:
    """Recurring job that retrains the registered models named by campaigns."""

    folder: Path  # one folder per model
    interval_h: int  # between trainings of a model; 0 for never
    stopped: Event = field(default_factory=Event)  # cancels training when set
    _due: dict[str, datetime] = field(default_factory=dict)

    def __call__(self, platform: Platform, now: datetime) -> None:
        """Retrain each model that is due; a failure does not affect the others."""
        for name in _named_models(platform) if self.interval_h else ():
            if now >= self._due.get(name, now):
                self._due[name] = now + timedelta(hours=self.interval_h)
                self._retrain(platform, name, now)

    def _retrain(self, platform: Platform, name: str, now: datetime) -> None:
        try:
            folder = registered_model_folder(self.folder, name)
            # Another process may have trained it recently.
            times = [entry.at for entry in open_registered_model(folder).trained_versions.values()]
            if times and max(times) + timedelta(hours=self.interval_h) > now:
                self._due[name] = max(times) + timedelta(hours=self.interval_h)
                return
            entry = retrain_from_campaigns(platform, folder, now=now, progress=self._check_stopped)
            log.info("The registered model %s: %s", name, "nothing is new." if entry is None else entry.reason)
        except Conflict as error:
            # Another process trains it now.
            self._due[name] = now + RETRY_AFTER
            log.info("The registered model %s: %s", name, error)
        except DissensusError as error:
            log.warning("The registered model %s was not trained: %s", name, error)
        except TrainingStopped:
            log.info("The registered model %s was not trained: the process ends.", name)

    def _check_stopped(self, _: float) -> None:
        if self.stopped.is_set():
            raise TrainingStopped


def _named_models(platform: Platform) -> list[str]:
    """Return the registered models that campaigns name."""
    with platform.database.reading() as tx:
        definitions = [platform.definitions.load(tx, row) for row in campaigns.list_campaigns(tx)]
    return sorted({name for campaign in definitions for name in campaign.registered_models})


def roll_back_model(folder: Path, to: int | None = None, *, reason: str = "", now: datetime) -> RegistryEntry:
    """Make an earlier version of a registered model current again."""
    reason = reason.strip() or "No reason was given."
    check_text(reason, "The reason", MAX_REASON_LENGTH)
    with lock_for_change(folder) as registered_model:
        number = _earlier_version(registered_model) if to is None else to
        load_model(registered_model.version_folder(number))
        if number == registered_model.current:
            raise Conflict(f"Version {number} of {registered_model.name} is current already.")
        extra = {"from": registered_model.current}
        entry = RegistryEntry(at=now, action="rolled back", version=number, current=number, reason=reason, extra=extra)
        append_entry(registered_model, entry)
        return entry


def _earlier_version(registered_model: RegisteredModel) -> int:
    if registered_model.previous is None:
        cause = (
            "no version is current"
            if registered_model.current is None
            else f"version {registered_model.current} replaced none"
        )
        raise Conflict(f"{registered_model.name} has no earlier version: {cause}. Name one: --to N.")
    return registered_model.previous
