"""Checks of a release, each a promise with its evidence."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from dissensus.pipeline.release.cells import N_RATERS, count_cells
from dissensus.pipeline.release.columns import (
    DURATIONS,
    MOMENTS,
    PLAIN,
    list_answer_columns,
    list_texts,
    list_unknown_columns,
)
from dissensus.pipeline.release.diversity import CELL, measure_diversity
from dissensus.pipeline.release.gate import ReleaseCheck
from dissensus.pipeline.release.joins import JoinedRelease
from dissensus.pipeline.release.membership import TIME_ERROR, attack_membership, attack_workload
from dissensus.pipeline.release.publication import Publication, list_images
from dissensus.pipeline.release.source import AUTHORS, KeyUse, ReleaseSource, list_earlier_uses
from dissensus.pipeline.release.statistics import number_cells
from dissensus.pipeline.release.times import is_coarse
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import count_noun, format_list, format_value
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.repeats import mark_second_showings
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.records.image import IMAGE, IMAGE_ALT
from dissensus.schema.release.plan import PURPOSE, ReleasePlan
from dissensus.stats.result import IntArray

MAX_LISTED: Final = 20
MIN_ID: Final = 4
"""Fewest characters of an id of the source that is searched for; a shorter one may be any value."""
MIN_WORD: Final = 8
"""Fewest characters of a rater's id in the source that is searched for within texts and among ids of items."""
_WORD: Final = r"(?<![^\W_]){}(?![^\W_])"
_PLATFORM: Final = re.compile(
    _WORD.format(r"(?:[0-9a-f]{24}|a(?=[a-z]*\d)[0-9a-z]{12,14})"),  # Prolific, Mechanical Turk
    re.IGNORECASE,
)
_MAIL: Final = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
# Sentences of a consent that allow numbers of groups alone, while a release publishes single rows.
_IN_GROUPS: Final = r"(?:groups?|aggregates?|aggregated form|summaries|averages|totals)"
_GROUPS_ALONE: Final = re.compile(
    rf"\b(?:groups? of people alone|(?:only|alone) (?:in|as|for|by) {_IN_GROUPS}"
    rf"|(?:in|as|for|by) {_IN_GROUPS} (?:only|alone)"
    r"|nur (?:in|als|für|nach) Gruppen|nur (?:in )?zusammengefasst\w*)\b",
    re.IGNORECASE,
)


def check_consent(source: ReleaseSource, publication: Publication) -> ReleaseCheck:
    """Check that the rater of each row agreed to the purposes; a person decides where publication is not among them."""
    raters = _read_raters(source)
    without = raters.filter(~raters.is_in(list(source.consented))) if source.consented is not None else raters.clear()
    evidence = [f"{publication.table.height:,} rows of {publication.raters.height:,} raters."]
    if source.consented is None:
        evidence.append("No record of consent was given.")
    elif PURPOSE not in source.purposes:
        evidence.append(f"They were not asked for the purpose {PURPOSE}, which is publication.")
    limits = [] if source.campaign is None else list_group_limits(source.campaign)
    evidence += [f"Rows of single raters are published, and the text of the consent says: {text}" for text in limits]
    return ReleaseCheck(
        name="consent",
        promise=f"The rater of every row agreed to {format_list(source.purposes)}.",
        evidence=tuple(evidence),
        internal=(
            f"{without.len():,} of {raters.len():,} rows of the source are of raters who did not agree.",
            *(f"{rater}: no consent." for rater in without.unique().sort().head(MAX_LISTED)),
        )
        if source.consented is not None
        else (),
        holds=without.is_empty(),
        judged=source.consented is None or PURPOSE not in source.purposes or bool(limits),
        remedy="Leave out the rows of those raters, or ask them.",
    )


def _read_raters(source: ReleaseSource) -> pl.Series:
    """Return the rater of each row without blanks around the id, as it is published."""
    return source.table[names.RATER_ID].cast(pl.String).str.strip_chars()


def list_group_limits(campaign: Campaign) -> list[str]:
    """Return the sentences of text and purposes of a consent by which answers or attributes are shown in groups alone.

    Such words do not cover rows of single raters, so that a person must decide.
    """
    wordings = (campaign.consent.text, *(purpose.text for purpose in campaign.consent.purposes))
    texts = (text for wording in wordings for text in wording.values())
    sentences = (" ".join(sentence.split()) for text in texts for sentence in re.split(r"(?<=[.!?])\s+", text))
    return list(dict.fromkeys(sentence for sentence in sentences if _GROUPS_ALONE.search(sentence)))


def check_withdrawals(source: ReleaseSource) -> ReleaseCheck:
    """Check that nobody who withdrew is in the table; a person decides where nothing is known."""
    promise = "Nobody who withdrew is in the release."
    if source.withdrawn is None:
        return ReleaseCheck(
            name="withdrawals",
            promise=promise,
            evidence=("Who withdrew is not known to the program.",),
            holds=True,
            judged=True,
        )
    raters = _read_raters(source)
    there = raters.filter(raters.is_in(list(source.withdrawn)))
    return ReleaseCheck(
        name="withdrawals",
        promise=promise,
        evidence=("Compared with those who withdrew.",),
        internal=(f"{len(source.withdrawn):,} withdrew. {there.len():,} rows of the source are theirs.",),
        holds=there.is_empty(),
        remedy="Leave out their rows.",
    )


def check_columns(source: ReleaseSource, plan: ReleasePlan) -> ReleaseCheck:
    """Check that the meaning of every column is known."""
    unknown = list_unknown_columns(source, plan)
    texts = [name for name in list_texts(source) if name not in plan.drop]
    shown = () if plan.with_images else (IMAGE, IMAGE_ALT)
    images = [name for name in shown if name in source.table.columns and name not in plan.drop]
    unknown += images
    left_out = [f"Free texts of raters, left out: {format_list(texts)}."] if texts and not plan.with_text else []
    return ReleaseCheck(
        name="columns",
        promise="Every column is one whose meaning is known.",
        evidence=(
            f"{len(source.table.columns):,} columns; unknown: {format_list(unknown) or 'none'}.",
            *left_out,
            *(["Images of items are not released, unless the plan says with_images = true."] if images else []),
        ),
        holds=not unknown,
        remedy=f"Drop them: drop = {json.dumps(unknown, ensure_ascii=False)}. Answers are of a known scale, or few; "
        f"names of columns with free texts end in {names.OWN_WORDS}.",
    )


def check_external_ids(source: ReleaseSource, publication: Publication) -> ReleaseCheck:
    """Check that no cell has the id of a person elsewhere, or the id of a rater in the source."""
    external = {identifier.strip().lower() for identifier in source.external_ids}
    raters = _read_raters(source).str.to_lowercase().unique()
    internal = {rater for rater in raters if len(rater) >= MIN_ID}
    words = {rater for rater in internal if len(rater) >= MIN_WORD}
    parts = sorted(words | {identifier for identifier in external if len(identifier) >= MIN_ID})
    hits = []
    for column in publication.table:
        if column.name == names.ITEM_ID:  # numbers of items may be those of raters by chance
            matches = _find_ids(column, external | words, parts, of_text=False)
        elif column.name not in PLAIN or column.name == names.RATER_ID:
            matches = _find_ids(column, external | internal, parts, of_text=column.name in publication.screen.columns)
        else:
            matches = []
        hits += [f"{column.name}: {format_value(value)}" for value in matches]
    return ReleaseCheck(
        name="external_ids",
        promise="No cell has an id by which a rater is known elsewhere.",
        evidence=(
            "Compared with ids of recruiters, ids of the source, and the forms of Prolific, Mechanical Turk and mail "
            "addresses.",
            *hits[:MAX_LISTED],
        ),
        internal=(f"{len(source.external_ids):,} ids of recruiters, {len(internal):,} ids of the source.",),
        holds=not hits,
        remedy="Drop the columns, or correct the values.",
    )


def _find_ids(column: pl.Series, cells: Collection[str], parts: list[str], *, of_text: bool) -> list[str]:
    """Return the values that are an id in `cells`, have an id in `parts` as a word, or have the form of an id.

    Mail addresses within texts are left to those who read the texts.
    """
    if not (column.dtype in (pl.String, pl.Categorical, pl.Enum) or column.dtype.is_integer()):
        return []
    values = column.drop_nulls().unique().cast(pl.String).sort()
    # Without differences that nobody sees: full-width letters, and marks without width.
    plain = values.str.normalize("NFKC").str.replace_all(r"\p{Cf}", "").str.strip_chars().str.to_lowercase()
    suspect = plain.str.contains_any(parts) if parts else pl.repeat(value=False, n=len(plain), eager=True)
    find_mail = _MAIL.fullmatch if of_text else _MAIL.search
    return [
        value
        for value, text, has_part in zip(values, plain, suspect, strict=True)
        if text in cells or _PLATFORM.search(text) or find_mail(text) or (has_part and _has_word(text, parts))
    ]


def _has_word(text: str, parts: Sequence[str]) -> bool:
    return any(part in text and re.search(_WORD.format(re.escape(part)), text) for part in parts)


def check_anonymity(publication: Publication, plan: ReleasePlan) -> ReleaseCheck:
    """Check that raters share their attributes with others."""
    k, axes = plan.anonymity.k, publication.quasi_identifiers
    cells = count_cells(publication.raters, axes)
    small = cells.filter(pl.col(N_RATERS) < k)
    remedy = (
        'Drop an attribute, a flag or checks, widen groups, or choose small_cells = "blank" or "leave out" in '
        "[anonymity]."
    )
    if plan.anonymity.small_cells == "blank":
        remedy = "Blank values are not enough: drop an attribute, a flag or checks, widen groups, or leave raters out."
    evidence = [
        f"{count_noun(cells.height, 'cell')} of {' × '.join(axes) or 'no attribute'}, "
        f"{count_noun(publication.raters.height, 'rater')}. Cells of fewer than {k}: {small.height:,}, of one: "
        f"{cells.filter(pl.col(N_RATERS) == 1).height:,}.",
        *(f"{_describe_cell(row, axes)}: {row[N_RATERS]}" for row in small.head(MAX_LISTED).iter_rows(named=True)),
    ]
    internal = [
        f"Without {axis}, to protect them: {count_noun(n, 'rater')}." for axis, n in publication.blanked.items()
    ]
    if publication.unanswered:
        internal.append(f"Left out without an answer: {count_noun(publication.unanswered, 'rater')}.")
    if publication.left_out:
        internal.append(f"Left out in small cells: {count_noun(len(publication.left_out), 'rater')}.")
    others = count_noun(k - 1, "other")
    return ReleaseCheck(
        name="anonymity",
        promise=f"Every rater shares all published attributes, flags and checks with {others} or more.",
        evidence=tuple(evidence),
        internal=tuple(internal),
        holds=small.is_empty() and not publication.raters.is_empty(),
        remedy=remedy,
    )


def _describe_cell(row: dict[str, object], axes: Sequence[str]) -> str:
    return names.CROSSED.join("(blank)" if row[axis] is None else str(row[axis]) for axis in axes)


def check_diversity(source: ReleaseSource, publication: Publication, plan: ReleasePlan) -> ReleaseCheck:
    """Check that attributes do not tell an answer to any question, whether or not its answers have an order."""
    least = max(plan.anonymity.l, 2)
    questions = [name for name in list_answer_columns(source) if name in publication.table.columns]
    by_question = {question: measure_diversity(_list_answers(publication, question), least) for question in questions}
    asked = plan.anonymity.l > 1
    return ReleaseCheck(
        name="diversity",
        promise=f"Each cell gave {plan.anonymity.l} different answers or more to each item, in each of these questions."
        if asked
        else "Different answers within cells were not asked for.",
        evidence=tuple(
            f"{question}: {diversity.n_below:,} of {diversity.n_pairs:,} cells and items have fewer than {least}."
            for question, diversity in by_question.items()
        ),
        holds=not asked or not any(diversity.n_below for diversity in by_question.values()),
        remedy="Widen groups or drop attributes, until cells are diverse, or lower l in [anonymity].",
    )


def _list_answers(publication: Publication, question: str) -> pl.DataFrame:
    """Return the item, the cell and the answer of each first showing that answers a question."""
    axes = publication.quasi_identifiers
    cell = pl.struct(axes).rank("dense") if axes else pl.lit(0)
    cells = publication.raters.select(names.RATER_ID, cell.alias(CELL))
    first = publication.table.filter(~mark_second_showings(publication.table))
    answered = first.select(names.ITEM_ID, names.RATER_ID, answer=question).drop_nulls("answer")
    return answered.join(cells, on=names.RATER_ID)


def check_membership(
    ratings: Ratings, question: str, publication: Publication, *, by_authors: bool = False
) -> ReleaseCheck:
    """Try to single out raters by some of their answers; a person decides whether the share is acceptable."""
    cells = number_cells(ratings, publication.raters, publication.quasi_identifiers)
    attack = attack_membership(ratings.codes(question), cells)
    if attack is None:
        evidence = "No rater has five answers."
    else:
        evidence = (
            f"Who knows {attack.known_answers} answers of a rater to {question} singles out "
            f"{attack.by_answers:.1%} of {attack.n_raters:,} raters, and who knows their attributes too "
            f"{attack.by_answers_and_cell:.1%}. They then know all other answers of these raters."
            + (f" {attack.n_tried:,} of them were tried." if attack.n_tried < attack.n_raters else "")
        )
    return ReleaseCheck(
        name="membership",
        promise="Somebody accepts how many raters an outsider can single out by what they know of them.",
        evidence=(
            evidence,
            *_describe_workload(ratings, publication, cells),
            *([AUTHORS] if by_authors else _describe_lone_items(publication.table)),
        ),
        holds=True,
        judged=True,
    )


def _describe_workload(ratings: Ratings, publication: Publication, cells: IntArray) -> Iterator[str]:
    """Yield what a list of pay or a recruiter tells: how many rows each rater has, and their whole time."""
    known = {"how many rows a rater has": (pl.len(), 0.0, "")}
    if names.ANSWER_TIME in publication.table.columns:
        whole_time = f"the whole time of a rater to {TIME_ERROR:.0%}, as recruiters do,"
        known[whole_time] = (pl.col(names.ANSWER_TIME).sum(), TIME_ERROR, f" Drop {names.ANSWER_TIME} to prevent that.")
    for name, (amount, error, remedy) in known.items():
        amounts = publication.table.group_by(names.RATER_ID).agg(amount=amount)
        ordered = ratings.raters.join(amounts, on=names.RATER_ID, how="left", maintain_order="left")["amount"]
        alone, with_cell = attack_workload(ordered.to_numpy(), cells, error=error)
        yield (
            f"Who knows {name} singles out {alone:.1%} of the raters, and who knows their attributes too "
            f"{with_cell:.1%}.{remedy}"
        )


def _describe_lone_items(table: pl.DataFrame) -> Iterator[str]:
    n_alone = table.group_by(names.ITEM_ID).agg(pl.col(names.RATER_ID).n_unique()).filter(pl.col(names.RATER_ID) == 1)
    if n_alone.height:
        yield (
            f"Items with one rater alone: {n_alone.height:,}. Who knows that a person rated one of them has found them."
        )


def check_times(publication: Publication, plan: ReleasePlan) -> ReleaseCheck:
    """Check that times cannot join releases or reveal an order."""
    evidence, holds = list(_describe_times(publication.table)), True
    for name in DURATIONS:
        if name in publication.table.columns:
            holds &= bool((publication.table[name].drop_nulls() % plan.round_times_ms == 0).all())
    for name in MOMENTS:
        if name in publication.table.columns:
            holds &= is_coarse(publication.table[name], plan.timestamps)
    return ReleaseCheck(
        name="times",
        promise=f"Durations are rounded to {plan.round_times_ms / 1000:g} s; timestamps: {plan.timestamps}. Rows are "
        "in the order of items and pseudonyms.",
        evidence=tuple(evidence) or ("There are no times.",),
        holds=holds,
        remedy="This is a fault of the program. Please report it.",
    )


def _describe_times(table: pl.DataFrame) -> Iterator[str]:
    for name in (*DURATIONS, *MOMENTS):
        if name in table.columns:
            yield f"{name}: {table[name].drop_nulls().n_unique():,} different values."


def check_texts(publication: Publication) -> ReleaseCheck:
    """Check that a person read the free texts."""
    screen = publication.screen
    kinds = screen.spans.group_by("kind").agg(pl.col("n").sum()).sort("kind")
    listed = ", ".join(f"{n:,} {kind.replace('_', ' ')}" for kind, n in kinds.iter_rows()) or "nothing"
    state = "replaced by their kind" if screen.redacted else "left in place"
    places = screen.spans.sort("column", "item_id", "kind")
    return ReleaseCheck(
        name="texts",
        promise="Somebody read the texts, and found nothing that identifies a person.",
        evidence=(
            f"{screen.n_texts:,} texts and attributes of items. Found by pattern: {listed}; {state}. Names of people "
            "are not found by pattern.",
            *(
                f"{row['column']} of {row['item_id']}: {row['kind']}"
                for row in places.head(MAX_LISTED).iter_rows(named=True)
            ),
            *([f"… and {places.height - MAX_LISTED:,} more."] if places.height > MAX_LISTED else []),
        ),
        holds=True,
        judged=bool(screen.n_texts),
    )


def check_images(source: ReleaseSource, publication: Publication, plan: ReleasePlan) -> ReleaseCheck:
    """Check that the images of items are there, and that a person looked at them."""
    names_of_images = list_images(publication.table) if plan.with_images else ()
    absent = [name for name in names_of_images if name not in source.images]
    evidence = [
        f"{len(names_of_images):,} images, encoded anew when they were added, without metadata. Faces, names and "
        f"places in them are not found by pattern. The site shows them on /campaigns/{plan.campaign}/images.",
        *names_of_images[:MAX_LISTED],
        *([f"… and {len(names_of_images) - MAX_LISTED:,} more."] if len(names_of_images) > MAX_LISTED else []),
        *(f"{name} is missing." for name in absent[:MAX_LISTED]),
    ]
    return ReleaseCheck(
        name="images",
        promise="Somebody looked at the images, and found nothing that identifies a person.",
        evidence=tuple(evidence) if names_of_images else ("There are no images.",),
        holds=not absent,
        remedy="The campaign does not have the images that are missing. Leave all out: with_images = false and drop = "
        + json.dumps([IMAGE, IMAGE_ALT]),
        judged=bool(names_of_images),
    )


def check_datasheet(open_questions: Sequence[str]) -> ReleaseCheck:
    """Check that nothing in the datasheet is open."""
    return ReleaseCheck(
        name="datasheet",
        promise="Every question of the datasheet has an answer.",
        evidence=(f"{len(open_questions):,} questions are open.", *open_questions),
        holds=not open_questions,
        remedy="Answer them in the plan, by their keys: [answers]",
    )


def check_key(uses: Sequence[KeyUse], plan: ReleasePlan) -> ReleaseCheck:
    """Check that the key gives no two releases the same ids unless that is meant."""
    uses = list_earlier_uses(uses, plan)
    others = [use for use in uses if use.name != plan.name or use.version not in plan.linked_to]
    return ReleaseCheck(
        name="key",
        promise="Ids of raters are those of no other release, unless the plan says so.",
        evidence=(
            *(f"The key was used for {use}." for use in uses),
            *(["The key was used for no other release."] if not uses else []),
            *([f"Meant to have the same ids: {format_list(plan.linked_to)}."] if plan.linked_to else []),
        ),
        holds=not others,
        remedy='Name another file: key = "…", or the versions that are meant to have the same ids: linked_to = ["…"]',
    )


def defer_check(check: ReleaseCheck) -> ReleaseCheck:
    """Return a check that only the command can make, which has the secret key and the folder of the release before."""
    evidence = ("The command `dissensus release` checks it, which has the key and the release before.",)
    return replace(check, evidence=evidence, internal=(), deferred=True)


def check_joins(joined: Sequence[JoinedRelease], unnamed: Sequence[KeyUse], plan: ReleasePlan) -> ReleaseCheck:
    """Check that a join with all earlier releases does not make smaller cells."""
    remedy = "Publish the same attributes in the same groups as before, or fewer."
    evidence = [line for release in joined for line in _describe_join(release, plan)]
    if unnamed:
        listed = format_list([str(use) for use in unnamed])
        evidence.append(f"This data was released before as {listed}, which the plan does not name.")
        remedy = 'Name the folder of the latest one as previous = "…", and those of others as older = ["…"].'
    elif not all(release.n_items for release in joined):
        remedy = "Name releases of the same items: previous, older"
    return ReleaseCheck(
        name="joins",
        promise="Joined with all releases before by ids or equal answers, raters are in no smaller cells.",
        evidence=tuple(evidence) or ("No release before is known.",),
        holds=not unnamed and all(release.n_items and not release.n_small for release in joined),
        remedy=remedy,
    )


def _describe_join(joined: JoinedRelease, plan: ReleasePlan) -> Iterator[str]:
    if not joined.n_items:
        yield "A release before has no item in common with this one, so that nothing was compared."
        return
    yield (
        f"{joined.n_matched:,} of {joined.n_raters:,} raters have the {'id' if joined.by_ids else 'answers'} of "
        f"exactly one rater of a release before, in {joined.n_items:,} items. {joined.n_missing:,} raters of it are "
        "not found again."
    )
    yield (
        f"Together all known attributes put {joined.n_small:,} of the matched in cells of fewer than "
        f"{plan.anonymity.k}, which are smaller than before."
    )
