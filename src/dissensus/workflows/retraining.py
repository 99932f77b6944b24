"""The online loop: a model line learns from all that was preferred so far, and its next version is promoted or not."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotFound
from dissensus.files.model_folder import identity, load_model, save_model
from dissensus.files.model_line import Entry, Line, add_entry, alone, next_version, read_line
from dissensus.files.pairs import ReadPairs, joined
from dissensus.files.votes import read_all
from dissensus.preference.kinds import AnyModel
from dissensus.preference.pairs import digest
from dissensus.preference.promotion import Dealt, deal, judge
from dissensus.preference.training import Plan, train
from dissensus.preference.votes import votes_of
from dissensus.store import campaigns, events
from dissensus.workflows.compared import Compared, compared_for
from dissensus.workflows.platform import Platform

Progress = Callable[[float], None]

log = logging.getLogger("dissensus.models")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """What a line learns from.

    Parameters
    ----------
    read
        Pairs, and how many comparisons make none.
    by_source
        How many comparisons are of each campaign and of files, by name.
    """

    read: ReadPairs
    by_source: Mapping[str, int] = field(default_factory=dict)


def comparisons_for(line: Line, *, platform: Platform | None, files: Sequence[Path] = ()) -> Comparisons:
    """Return all that a line can learn from: what campaigns that name it collected, and files.

    Raises
    ------
    NotFound
        There is nothing.
    DissensusError
        A file cannot be read.
    """
    parts: list[ReadPairs] = []
    by_source: dict[str, int] = {}
    found = None if platform is None else compared_for(platform, line.name)
    if found is not None and found.preferences:
        parts.append(ReadPairs(*votes_of(found.preferences, found.people, purpose=line.terms.purpose)))
        by_source |= found.by_campaign
    if files:
        parts.append(read_all(files, purpose=line.terms.purpose))
        by_source["files"] = len(parts[-1].pairs)
    if not parts:
        raise NotFound(f"{_nothing(line, found)} Open a campaign that names the line, or give files of pairs.")
    return Comparisons(read=joined(parts), by_source=by_source)


def _nothing(line: Line, found: Compared | None) -> str:
    if found is None:
        return f"There is nothing that {line.name} could learn from."
    if not found.by_campaign:
        return f'No campaign names {line.name}: lines = ["{line.name}"].'
    return f"Nothing was preferred yet in campaigns that name {line.name}."


def retrain(
    folder: Path,
    comparisons_of: Callable[[Line], Comparisons],
    *,
    now: datetime,
    seed: int = 0,
    progress: Progress | None = None,
) -> Entry | None:
    """Train the next version of a line, and promote it if it is shown to be no worse than the current one.

    Parameters
    ----------
    folder
        The line.
    comparisons_of
        Gives all that it can learn from.
    now
        The time.
    seed
        Of the folds in which settings are chosen.
    progress
        Called with the share that is done.

    Returns
    -------
    Entry or None
        What became of it; None where there is nothing that the last version did not know.

    Raises
    ------
    Conflict
        Somebody else trains or changes the line now.
    UndefinedEstimate
        Too few dialogues are held out.
    DissensusError
        There is nothing to learn from, or too little.
    """
    with alone(folder) as line:
        found = comparisons_of(line)
        data = digest([replace(pair, rater=None) for pair in found.read.pairs])
        if any(one.found.get("data_sha256") == data for one in list(line.trained.values())[-1:]):
            return None
        dealt = deal(found.read.pairs)
        before = None if line.current is None else load_model(line.version(line.current))
        model = _trained(line, dealt, found, seed=seed, progress=progress)
        current = None if before is None else before.margins(dealt.apart)
        judged = judge(dealt.apart, model.margins(dealt.apart), current, rule=line.terms.rule)
        place = next_version(line)
        save_model(model, place)
        number = int(place.name)
        entry = Entry(
            at=now,
            what="promoted" if judged.promoted else "kept back",
            version=number,
            current=number if judged.promoted else line.current,
            why=judged.why,
            n_pairs=len(dealt.known),
            accuracy=judged.accuracy,
            found={
                "against": line.current,
                "sha256": identity(place).sha256,
                "data_sha256": data,
                "n_held_out": len(dealt.apart),
                "by_source": dict(found.by_source),
                "difference": None if judged.difference is None else asdict(judged.difference),
            },
        )
        add_entry(line, entry)
        return entry


def _trained(line: Line, dealt: Dealt, found: Comparisons, *, seed: int, progress: Progress | None) -> AnyModel:
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


def retrain_here(
    platform: Platform,
    folder: Path,
    *,
    files: Sequence[Path] = (),
    now: datetime,
    seed: int = 0,
    progress: Progress | None = None,
) -> Entry | None:
    """Train the next version of a line on what campaigns of a site collected, see `retrain`, and note it in their log.

    Raises
    ------
    DissensusError
        As `retrain`.
    """
    known = partial(comparisons_for, platform=platform, files=files)
    entry = retrain(folder, known, now=now, seed=seed, progress=progress)
    if entry is not None:
        with platform.database.writing() as tx:
            _note(tx, entry, folder.name, now)
    return entry


def _note(tx: Connection, entry: Entry, line: str, now: datetime) -> None:
    by_source = entry.found["by_source"]
    for kept in campaigns.all_campaigns(tx):
        if by_source.get(kept.name):
            content = {"line": line, "version": entry.version, "promoted": entry.what == "promoted"}
            events.record(tx, kept.id, "train", {**content, "n": by_source[kept.name]}, now=now)


@dataclass(slots=True)
class Learning:
    """Lets the lines that campaigns name learn, again and again.

    Parameters
    ----------
    folder
        It has a folder for each line.
    every_h
        Hours between two tries; 0 for never.
    """

    folder: Path
    every_h: int
    _tried: dict[str, datetime] = field(default_factory=dict)

    def __call__(self, platform: Platform, now: datetime) -> None:
        """Let each line learn for which it is time; one that cannot keeps no other from it."""
        for name in _named(platform) if self.every_h else ():
            tried = self._tried.get(name)
            if tried is None or now - tried >= timedelta(hours=self.every_h):
                self._learn(platform, name, now)

    def _learn(self, platform: Platform, name: str, now: datetime) -> None:
        self._tried[name] = now
        try:
            # Another process may have let it learn not long ago.
            trained = read_line(self.folder / name).trained.values()
            self._tried[name] = last = max((one.at for one in trained), default=now)
            if last == now or now - last >= timedelta(hours=self.every_h):
                self._tried[name] = now
                entry = retrain_here(platform, self.folder / name, now=now)
                log.info("The model line %s: %s", name, "nothing is new." if entry is None else entry.why)
        except DissensusError as error:
            log.warning("The model line %s did not learn: %s", name, error)


def _named(platform: Platform) -> list[str]:
    """Return the lines that campaigns name."""
    with platform.database.reading() as tx:
        every = [platform.definitions.of(tx, kept).lines for kept in campaigns.all_campaigns(tx)]
    return sorted({name for lines in every for name in lines})


def roll_back(folder: Path, to: int | None = None, *, why: str = "", now: datetime) -> Entry:
    """Make an earlier version of a line current again.

    Parameters
    ----------
    folder
        The line.
    to
        Which version; None for the one that was current before this one.
    why
        In the words of whoever does it.
    now
        The time.

    Raises
    ------
    NotFound
        There is no such version.
    Conflict
        It is current already, or there is none before it; or somebody else changes the line now.
    """
    with alone(folder) as line:
        number = _before(line) if to is None else to
        load_model(line.version(number))
        if number == line.current:
            raise Conflict(f"Version {number} of {line.name} is current already.")
        told = why.strip() or "Nobody said why."
        entry = Entry(
            at=now, what="rolled back", version=number, current=number, why=told, found={"from": line.current}
        )
        add_entry(line, entry)
        return entry


def _before(line: Line) -> int:
    """Return the version that was current before the one that is."""
    if line.current is None:
        raise Conflict(f"{line.name} has no current version, so there is none before it.")
    promoted = [one.version for one in line.entries if one.what == "promoted" and one.version < line.current]
    if not promoted:
        raise Conflict(f"Before version {line.current} of {line.name} none was promoted. Name a version: --to N.")
    return promoted[-1]
