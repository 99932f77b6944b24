"""Datasheet of a release: the questions of Gebru et al. 2021, "Datasheets for Datasets", with their answers.

Questions about what happened are answered from the campaign and the published table. Those that only a person can
answer are answered by the plan, and open without that: https://doi.org/10.1145/3458723.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import Final

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.release.columns import DURATIONS, MOMENTS
from dissensus.pipeline.release.description import BLANK, ReleaseDescription
from dissensus.pipeline.release.source import AUTHORS
from dissensus.pipeline.release.source_notices import describe_source_notices
from dissensus.schema.campaign.definition import localise
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.money import to_major_units
from dissensus.schema.ratings.columns import GOLD
from dissensus.schema.records.image import IMAGE
from dissensus.schema.release.plan import ReleasePlan
from dissensus.stats.exact import ExactTest, freeman_halton
from dissensus.stats.multiple_testing import benjamini_hochberg

Fill = Callable[[ReleaseDescription], str]


@dataclass(frozen=True, slots=True)
class DatasheetQuestion:
    """A question, and its answer from the facts of the release; None if only a person can answer."""

    key: str
    text: str
    fill: Fill | None = None


def list_open_questions(plan: ReleasePlan) -> tuple[str, ...]:
    """Return the questions that only a person can answer, and nobody has, with their keys."""
    keys = [question.key for questions in SECTIONS.values() for question in questions]
    for key in plan.answers:
        if key not in keys:
            raise InvalidInput(
                f"answers: The datasheet has no question {key!r}.{suggest(key, keys)} Keys are {format_list(keys, 60)}."
            )
    return tuple(
        f"{question.key}: {question.text}"
        for questions in SECTIONS.values()
        for question in questions
        if question.fill is None and question.key not in plan.answers
    )


def write_datasheet(release: ReleaseDescription) -> str:
    """Return the datasheet in Markdown."""
    return "\n".join(_lines(release)).rstrip() + "\n"


def _lines(release: ReleaseDescription) -> Iterator[str]:
    plan = release.plan
    yield f"# Datasheet of {release.title}"
    yield ""
    yield f"Version {plan.version}, {plan.released.isoformat()}. The questions are those of Gebru et al. 2021."
    yield "Answers of the owner are quoted; the others were written by the program from the campaign and the data."
    for section, questions in SECTIONS.items():
        yield ""
        yield f"## {section}"
        for question in questions:
            yield ""
            yield f"**{question.text}**"
            yield ""
            yield _answer(question, release)


def _answer(question: DatasheetQuestion, release: ReleaseDescription) -> str:
    filled = "" if question.fill is None else question.fill(release)
    own = release.plan.answers.get(question.key)
    quoted = "" if own is None else "\n".join(f"> {line}".rstrip() for line in own.splitlines())
    return "\n\n".join(filter(None, (filled, quoted)))


def _instances(release: ReleaseDescription) -> str:
    unit = "all answers of one rater to one item: a conversation, or a text"
    if release.by_authors:
        unit = "a message of a rater to a chatbot, the responses to it, and which of them the rater preferred"
    return (
        f"A row is {unit}. There are {release.n_ratings:,} rows of {release.n_raters:,} raters about "
        f"{release.n_items:,} items."
    )


def _sample(release: ReleaseDescription) -> str:
    text = "All finished ratings of raters who agreed to the release."
    if release.campaign is None:
        text = "The ratings of a file of the owner; whether these are all is not known to the program."
    omissions = " ".join(release.facts.omissions) if release.facts else ""
    protection = {
        "refuse": "",
        "blank": " Attributes of raters in small cells are blank.",
        "leave out": " Raters in small cells are left out.",
    }[release.plan.anonymity.small_cells]
    return f"{text} {omissions}".rstrip() + protection


def _contents(release: ReleaseDescription) -> str:
    rows = [f"| `{name}` | {_type(dtype)} |" for name, dtype in release.columns.items()]
    return "\n".join(("| Column | Type |", "|---|---|", *rows))


def _type(dtype: object) -> str:
    text = str(dtype)
    return "category" if text.startswith("Enum") else text.lower()


def _labels(release: ReleaseDescription) -> str:
    total = sum(release.answers.values()) or 1
    shares = ", ".join(f"{answer} {n:,} ({n / total:.1%})" for answer, n in release.answers.items())
    alpha = "undefined"
    if release.alpha is not None:
        alpha = f"{release.alpha:.3f}"
        if release.alpha_interval is not None:
            low, high = release.alpha_interval
            alpha += f" (95 % interval {low:.3f} to {high:.3f}, two-way bootstrap)"
    agreement = (
        f"Krippendorff's alpha is {alpha}. Raters disagree: disagreement is what this dataset is for, and no answer is "
        "the true one."
    )
    if release.by_authors:
        agreement = "Each message has the answers of its author alone, so that nothing is known of agreement."
    return f"Answers to `{release.question}`: {shares}. {agreement}"


def _missing(release: ReleaseDescription) -> str:
    text = (
        "Questions that raters declined or were not asked are empty. Attributes are empty where they protect a rater."
    )
    gold = None if release.campaign is None else release.campaign.gold
    if gold is None or gold.sample is None or GOLD not in release.columns:
        return text
    strata = f", in the proportions of {format_list(gold.sample_by)}" if gold.sample_by else ""
    return (
        f"{text} Experts were asked to label a random sample of {gold.sample:,} items of the campaign{strata}; gold "
        "labels of other items are empty unless the file of the items has them."
    )


def _people(release: ReleaseDescription) -> str:
    if not release.groups:
        return "No attributes of raters are published."
    parts = []
    for axis, counts in release.groups.items():
        parts += [f"| {axis} | {group} | {n:,} |" for group, n in counts.items()]
    return "\n".join(("| Attribute | Group | Raters |", "|---|---|---|", *parts))


def _pool(release: ReleaseDescription) -> str:
    quota = release.campaign.quota if release.campaign else None
    if quota is None:
        return "No quota was set."
    cells = [f"| {name} | {seats:,} |" for name, seats in quota.targets.items()]
    return "\n".join(("The pool was planned by cells:", "", "| Cell | Raters planned |", "|---|---|", *cells))


def _identify(release: ReleaseDescription) -> str:
    rule = release.plan.anonymity
    authors = f" {AUTHORS}" if release.by_authors else ""
    return (
        f"Not by the attributes alone: each rater shares all of them with at least {rule.k - 1} others "
        f"({rule.k}-anonymity). Whoever knows some answers of a rater may find the rater by them, and then all their "
        f"other answers.{authors} Ids are pseudonyms by a secret key that is not published."
    )


def _sensitive(release: ReleaseDescription) -> str:
    axes = ", ".join(f"`{axis}`" for axis in release.groups) or "none"
    return f"Attributes of raters: {axes}. The conversations may be about anything. {release.warning}"


def _others(release: ReleaseDescription) -> str:
    lines = list(describe_source_notices(release.notices))
    return "\n".join(lines).rstrip() or "No item is known to be from another dataset."


def _collection(release: ReleaseDescription) -> str:
    if release.campaign is None:
        return "From files that Dissensus did not collect."
    language = release.campaign.languages[0]
    return (
        f'With Dissensus, in the campaign "{localise(release.campaign.title, language)}". Its definition has the '
        f"SHA-256 {release.campaign.digest}."
    )


def _payment(release: ReleaseDescription) -> str:
    campaign = release.campaign
    if campaign is None or campaign.pay is None:
        return "The platform knows of no pay."
    pay = campaign.pay
    recruiter = campaign.recruit.name if campaign.recruit else "links of the owner"
    rate = to_major_units(pay.currency, pay.hourly_rate)
    return f"Recruited by {recruiter}. An hour of work is paid {rate} {pay.currency}."


def _period(release: ReleaseDescription) -> str:
    if release.facts is None:
        return "Not known to the program."
    return f"From {release.facts.first_day:%Y-%m} to {release.facts.last_day:%Y-%m}."


def _consent(release: ReleaseDescription) -> str:
    purposes = format_list(release.purposes)
    if release.campaign is None or release.facts is None:
        return f"To {purposes}, as the owner states."
    campaign = release.campaign
    language = campaign.languages[0]
    text = localise(campaign.consent.text, language)
    asked = [
        f"- {purpose.name}{' (required)' if purpose.required else ''}: {localise(purpose.text, language)}"
        for purpose in campaign.consent.purposes
    ]
    quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return "\n".join(
        (
            f"Yes, row by row, to {purposes} in the latest version that each rater answered, of "
            f"{release.facts.consent_version:,}. The text, SHA-256 {campaign.consent.digest}:",
            *("", quoted, "", *asked),
        )
    )


def _revocation(release: ReleaseDescription) -> str:
    how = "Whether raters can withdraw from the collection is not known to the program."
    if release.facts is not None:
        how = (
            "Raters can withdraw at any time, and their data are erased. Until this release "
            f"{release.facts.withdrawn:,} did."
        )
    return (
        f"{how} Copies of a release cannot be "
        f"called back: the next version leaves out who withdrew, and its CHANGES.md says so. Users are asked to take "
        f"the latest version, and to delete earlier ones. Turn to {release.plan.contact}."
    )


def _cleaning(release: ReleaseDescription) -> str:
    plan = release.plan
    lines = ["Rows are sorted by item and pseudonym."]
    if set(DURATIONS) & set(release.columns):
        lines.append(f"Durations are rounded to {plan.round_times_ms / 1000:g} s.")
    if plan.timestamps == "none":
        lines.append("Timestamps of answers are left out.")
    elif set(MOMENTS) & set(release.columns):
        lines.append(f"Timestamps of answers are truncated to the {plan.timestamps}.")
    if plan.drop:
        lines.append(f"Left out: {format_list(plan.drop, 60)}.")
    lines += [
        f"{axis}: {group} stands for {format_list(values, 60)}."
        for axis, groups in plan.anonymity.groups.items()
        for group, values in groups.items()
    ]
    if plan.redact:
        lines.append(
            "In texts, what looks like an address or a number of a person is replaced by its kind in brackets."
        )
    if IMAGE in release.columns:
        lines.append("Images of items were encoded anew, without metadata; nothing in them was covered.")
    if not plan.with_text:
        lines.append("Free texts of raters are left out.")
    return " ".join(lines)


def _removal(release: ReleaseDescription) -> str:
    if release.n_flagged is None:
        return "Not known to the program: the table has no flags of raters."
    rows = [
        f"| {axis} | {group} | {n:,} | {total:,} |"
        for axis, groups in release.flagged.items()
        for group, (n, total) in groups.items()
    ]
    text = (
        f"No rater was removed for a flag. {release.n_flagged:,} raters are flagged: the owner would leave them out of "
        "analyses. "
        f"Exact tests of whether flags are independent of groups: {_test_flags(release)} How far labels move without "
        "these raters `dissensus vet --audit` measures."
    )
    return (
        "\n".join((text, "", "| Attribute | Group | Flagged | Raters |", "|---|---|---|---|", *rows)) if rows else text
    )


def _test_flags(release: ReleaseDescription) -> str:
    """Return the exact test of each attribute, over raters of a known group, adjusted over all of them."""
    tests = {axis: _test_axis(groups) for axis, groups in release.flagged.items()}
    adjusted = benjamini_hochberg([nan if test is None else test.p for test in tests.values()])
    p_values = dict(zip(tests, adjusted, strict=True))
    texts = [
        f"{axis}: not tested, as there is one group, or all or none are flagged."
        if test is None
        else f"{axis}: p = {test.p:.3f}, adjusted {p_values[axis]:.3f} ({test.method})."
        for axis, test in tests.items()
    ]
    return " ".join(texts) or "there are no attributes to test."


def _test_axis(groups: Mapping[str, tuple[int, int]]) -> ExactTest | None:
    try:
        return freeman_halton([(n, total - n) for group, (n, total) in groups.items() if group != BLANK])
    except UndefinedEstimate:
        return None


def _integrity(release: ReleaseDescription) -> str:
    head = ""
    if release.facts is not None:
        head = (
            f" The audit log of the campaign had {release.facts.n_events:,} events, with the head {release.facts.head}."
        )
    key = f"The key of the ids has the fingerprint {release.fingerprint}."
    return f"`SHA256SUMS` has the digest of every file. {key}{head}"


def _limits(_: ReleaseDescription) -> str:
    return (
        "Raters are not a random sample of any population. Small groups have wide intervals. Answers depend on "
        "wording, language and time."
    )


def _effects(release: ReleaseDescription) -> str:
    effects = release.effects
    if effects.reason:
        return f"No effects of groups are stated: {effects.reason}"
    rows = [
        f"| {row.axis} | {row.group} | {row.n_group:,} | {row.base} | {row.n_base:,} | {row.estimate:.2f} | "
        f"{row.low:.2f} to {row.high:.2f} |"
        for row in effects.effects
    ]
    text = (
        f'Estimated by `dissensus model data/ratings.csv --formula "{effects.formula}"` from the {effects.n_raters:,} '
        "raters whose attributes are known, in standard deviations of the latent error; above 0 they are towards "
        f"{effects.towards}. Intervals are of 95 % each, and of many some miss by chance."
    )
    text = " ".join((text, *effects.warnings))
    head = ("| Attribute | Group | Raters | Against | Raters | Effect | Interval |", "|---|---|---|---|---|---|---|")
    return "\n".join((text, "", *head, *rows))


def _updates(release: ReleaseDescription) -> str:
    return (
        "`CHANGES.md` states what changed since the version before. `dissensus diff OLD NEW` compares two folders, and "
        f"`dissensus validate FOLDER` checks one. Announcements: {release.plan.contact}."
    )


SECTIONS: Final[Mapping[str, tuple[DatasheetQuestion, ...]]] = {
    "Motivation": (
        DatasheetQuestion("purpose", "For what purpose was the dataset created?"),
        DatasheetQuestion("creators", "Who created it, on behalf of whom?", lambda r: ", ".join(r.plan.creators) + "."),
        DatasheetQuestion("funding", "Who funded it?"),
    ),
    "Composition": (
        DatasheetQuestion("instances", "What do the instances represent, and how many are there?", _instances),
        DatasheetQuestion("sample", "Is it all instances, or a sample?", _sample),
        DatasheetQuestion("contents", "What data does each instance consist of?", _contents),
        DatasheetQuestion("labels", "Is there a label, and how far do raters agree?", _labels),
        DatasheetQuestion("effects", "Do groups of raters answer differently?", _effects),
        DatasheetQuestion("missing", "Is any information missing?", _missing),
        DatasheetQuestion("errors", "What are limits, errors and noise?", _limits),
        DatasheetQuestion("offensive", "Does it contain what may offend or distress?", lambda r: r.warning),
        DatasheetQuestion("groups", "Does it identify groups of people?", _people),
        DatasheetQuestion("identification", "Can individuals be identified?", _identify),
        DatasheetQuestion("sensitive", "Does it contain sensitive data?", _sensitive),
    ),
    "Collection": (
        DatasheetQuestion("items_source", "Where do the items come from, and under which licence?"),
        DatasheetQuestion("others", "What do others say of the data that items are from?", _others),
        DatasheetQuestion("mechanism", "How were the data collected?", _collection),
        DatasheetQuestion("pool", "How was the pool of raters planned?", _pool),
        DatasheetQuestion("pay", "Who took part, and how were they paid?", _payment),
        DatasheetQuestion("period", "When were the data collected?", _period),
        DatasheetQuestion("ethics_review", "Was there an ethical review?"),
        DatasheetQuestion("consent", "Did people consent?", _consent),
        DatasheetQuestion("revocation", "Can consent be revoked?", _revocation),
        DatasheetQuestion("impact", "Was the impact on the people analysed?"),
    ),
    "Preparation": (
        DatasheetQuestion("cleaning", "What was done to the data?", _cleaning),
        DatasheetQuestion("removal", "Who was removed, and was that audited?", _removal),
        DatasheetQuestion("software", "Is the software available?", lambda r: f"{r.software}, Apache-2.0."),
    ),
    "Uses": (
        DatasheetQuestion("uses", "For which uses is it meant?"),
        DatasheetQuestion("misuses", "For which uses is it not permitted?"),
    ),
    "Distribution": (
        DatasheetQuestion("licence", "Under which licence is it distributed?", lambda r: f"{r.plan.licence}."),
        DatasheetQuestion("integrity", "How can its integrity be checked?", _integrity),
    ),
    "Maintenance": (
        DatasheetQuestion("maintenance", "Who maintains it, and for how long?"),
        DatasheetQuestion("contact", "How can they be reached?", lambda r: f"{r.plan.contact}."),
        DatasheetQuestion("updates", "How do users learn of changes?", _updates),
    ),
}
"""The questions by section."""
