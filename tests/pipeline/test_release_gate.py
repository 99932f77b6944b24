"""Gate of releases: what passes, what is refused, and what a hostile reader can still do."""

import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.support.paths import ROOT
from tests.support.releases import (
    ANSWERS,
    KEY,
    assess,
    failed,
    find_check,
    make_plan,
    make_source,
    make_table,
    sign_all,
)

from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.release.assessment import assess_release
from dissensus.pipeline.release.cells import count_cells
from dissensus.pipeline.release.changes import compare_releases
from dissensus.pipeline.release.checks import check_times, list_group_limits
from dissensus.pipeline.release.croissant import write_croissant
from dissensus.pipeline.release.datasheet import write_datasheet
from dissensus.pipeline.release.description import ReleasedEffects, describe_release
from dissensus.pipeline.release.joins import join_releases
from dissensus.pipeline.release.membership import MAX_RATERS, TIME_ERROR, attack_membership, attack_workload
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.pipeline.release.source import KeyUse
from dissensus.pipeline.release.statistics import number_cells
from dissensus.schema.campaign.definition import Pay
from dissensus.schema.campaign.gold import Gold
from dissensus.schema.campaign.recruit import RecruitSettings
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.schema.records.conversation import Turn
from dissensus.schema.records.preference import Pick, Preference
from dissensus.schema.records.source_notice import SourceNotice
from dissensus.schema.release.parser import parse_plan

SMALL = {("Man", "young"): 6, ("Man", "old"): 2, ("Woman", "young"): 6}
UNEVEN = {**SMALL, ("Woman", "old"): 1}


def test_a_release_passes_once_people_have_signed() -> None:
    assessed = assess()
    assert failed(assessed.verdict) == []
    unsigned = [judged.check.name for judged in assessed.verdict.checks if judged.outcome == "unsigned"]
    assert unsigned == ["membership", "texts"]
    signed = sign_all(make_plan(), assessed.verdict)
    assert assess_release(make_source(), signed, KEY).verdict.passed


def test_two_people_sign_where_the_plan_says_so() -> None:
    plan = make_plan(people=2)
    verdict = assess(people=2).verdict
    for people, passed in (
        (["Ada"], False),
        (["Ada", "ada", "\uff21da ", "Ada\u00a0"], False),
        (["Ada", "Grace"], True),
    ):
        assert assess_release(make_source(), sign_all(plan, verdict, *people), KEY).verdict.passed is passed


@pytest.mark.parametrize("change", ["answer", "round", "licence", "answers", "k", "notice"])
def test_a_signature_lapses_with_any_change(change: str) -> None:
    plan, source = sign_all(make_plan(), assess().verdict), make_source()
    if change == "answer":
        answers = pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("Unsure")).otherwise(pl.lit("No"))
        source = make_source(source.table.with_columns(Q_overall=answers))
    elif change == "notice":
        source = make_source(notices=(SourceNotice(name="ours", licence="MIT"),))
    else:
        changes: dict[str, Any] = {
            "round": {"round_times_ms": 10_000},
            "licence": {"licence": "CC0-1.0"},
            "answers": {"answers": {**plan.answers, "purpose": "Another one."}},
            "k": {"anonymity": replace(plan.anonymity, k=6)},
        }
        plan = replace(plan, **changes[change])
    verdict = assess_release(source, plan, KEY).verdict
    assert failed(verdict) == ["signatures"]
    assert "which is not its code" in find_check(verdict, "signatures").check.evidence[1]


def test_signatures_are_of_evidence_that_needs_no_key() -> None:
    """A site has no key: what is signed there holds for the command, which makes the two other checks."""
    on_site = assess_release(make_source(), make_plan()).verdict
    assert [judged.check.name for judged in on_site.checks if judged.outcome == "deferred"] == ["key"]
    signed = sign_all(make_plan(), on_site)
    assert assess_release(make_source(), signed).verdict.stands
    for key in (KEY, Pseudonyms(bytes(range(1, 33)))):
        assert assess_release(make_source(), signed, key).verdict.passed


def test_images_of_items_are_released_where_the_plan_says_so_and_somebody_looked() -> None:
    source = make_source(make_table().with_columns(item_image=pl.lit("a.png"), item_image_alt=pl.lit("A knife.")))
    refused = find_check(assess(source).verdict, "columns").check
    assert "Images of items are not released, unless the plan says with_images = true." in refused.evidence
    with_images = replace(make_plan(), with_images=True)
    assert failed(assess_release(source, with_images, KEY).verdict) == ["images"]  # the campaign does not have it
    verdicts = [assess_release(replace(source, images={"a.png": one}), with_images, KEY).verdict for one in "ab"]
    assert [find_check(verdict, "images").outcome for verdict in verdicts] == ["unsigned", "unsigned"]
    signed = sign_all(with_images, verdicts[0])
    assert assess_release(replace(source, images={"a.png": "a"}), signed, KEY).verdict.passed
    assert failed(assess_release(replace(source, images={"a.png": "b"}), signed, KEY).verdict) == ["signatures"]
    assert 'drop = ["item_image", "item_image_alt"]' in refused.remedy
    assert "columns" not in failed(assess(source, drop=["item_image", "item_image_alt"]).verdict)


@pytest.mark.parametrize(
    ("sentence", "limits"),
    [
        ("What you say about yourself is shown in groups of people alone.", True),
        ("Answers are published only as averages.", True),
        ("Ihre Angaben werden nur für Gruppen gezeigt.", True),
        ("Your answers are published row by row.", False),
    ],
)
def test_a_consent_to_numbers_of_groups_needs_a_person(sentence: str, *, limits: bool) -> None:
    shipped = load_campaign("dices-350")
    assert list_group_limits(shipped) == []
    campaign = replace(shipped, consent=replace(shipped.consent, text={"en": f"Hello. {sentence}"}))
    check = find_check(assess(make_source(campaign=campaign)).verdict, "consent")
    assert (check.outcome == "unsigned") is limits
    assert any(sentence in line for line in check.check.evidence) is limits


def test_the_same_source_plan_and_key_give_the_same_table_in_any_order() -> None:
    table = make_table()
    shuffled = table.sample(fraction=1, shuffle=True, seed=5)
    tables = [assess(make_source(each)).publication.table for each in (table, shuffled)]
    assert tables[0].equals(tables[1])
    other = assess_release(make_source(table), make_plan(), Pseudonyms(bytes(32))).publication.table
    assert not set(other["rater_id"]) & set(tables[0]["rater_id"])


@pytest.mark.parametrize(
    ("source", "check", "evidence"),
    [
        ({"consented": frozenset({"person-0"})}, "consent", "person-1: no consent."),
        ({"withdrawn": frozenset({"person-3"})}, "withdrawals", "12 rows of the source"),
        (
            {"unnamed": (KeyUse(name="pilot", version="0.9", manifest="a" * 64),)},
            "joins",
            "which the plan does not name",
        ),
        ({"key_uses": (KeyUse(name="pilot", version="0.9", manifest="a" * 64),)}, "key", "used for pilot 0.9"),
        ({"key_uses": (KeyUse(name="other", version="1.0", manifest="a" * 64),)}, "key", "used for other 1.0"),
    ],
)
def test_a_source_is_refused(source: dict[str, Any], check: str, evidence: str) -> None:
    verdict = assess(make_source(**source)).verdict
    assert failed(verdict) == [check]
    failed_check = find_check(verdict, check).check
    assert evidence in "\n".join((*failed_check.evidence, *failed_check.internal))


@pytest.mark.parametrize(
    ("source", "check"),
    [({"purposes": ("rating",)}, "consent"), ({"consented": None}, "consent"), ({"withdrawn": None}, "withdrawals")],
)
def test_a_person_signs_for_what_nobody_was_asked(source: dict[str, Any], check: str) -> None:
    assert find_check(assess(make_source(**source)).verdict, check).outcome == "unsigned"


@pytest.mark.parametrize(
    ("column", "check"),
    [
        (pl.lit("5a9d2f1e0b3c4d5e6f7a8b9c").alias("rater_code"), "external_ids"),  # Prolific
        (pl.lit("A2SUAM1J3GNN3B").alias("item_note"), "external_ids"),  # Mechanical Turk
        (pl.lit("ann@example.org").alias("rater_mail"), "external_ids"),
        (pl.col("rater_id").alias("rater_name"), "external_ids"),
        (pl.lit("x").alias("worker"), "columns"),
        (pl.format("Comment {} of {}.", "item_id", "rater_id").alias("Q_comment"), "columns"),
        (pl.format("R_{}", "rater_id").alias("Qualtrics_ResponseId"), "columns"),
        (pl.format("101{}", pl.col("rater_id").str.slice(7)).alias("Q_zip"), "columns"),
        (pl.col("rater_id").str.slice(7).alias("Q_seat"), "columns"),  # one value for each rater
        (
            pl.when(pl.col("rater_gender") == "Man").then(pl.lit("a")).otherwise(pl.lit("b")).alias("shown_first"),
            "columns",
        ),
        (pl.format("{}-PERSON-0", "item_id").alias("item_id"), "external_ids"),
        (pl.lit("By a2suam1j3gnn3b.").alias("response"), "external_ids"),
        (pl.lit("Thanks to Person-0!").alias("response"), "external_ids"),
        (pl.lit("5a9d2f1e0b3c\u200b4d5e6f7a8b9c").alias("item_note"), "external_ids"),
        (pl.lit("\uff35\uff33\uff25\uff32 a2suam1j3gnn\uff13b").alias("item_note"), "external_ids"),
        (pl.lit(" 5A9D2F1E0B3C4D5E6F7A8B9C ").cast(pl.Categorical).alias("item_note"), "external_ids"),
    ],
)
def test_ids_from_elsewhere_are_found(column: pl.Expr, check: str) -> None:
    assert check in failed(assess(make_source(make_table().with_columns(column)), redact=False).verdict)


def test_ids_of_raters_are_searched_for_from_four_characters_on() -> None:
    """A shorter one may be any value."""
    for digits, checks in ((2, []), (3, ["external_ids"])):
        table = make_table().with_columns(
            rater_id="r" + pl.col("rater_id").str.slice(7).str.zfill(digits), item_note=pl.lit("r" + "1".zfill(digits))
        )
        assert failed(assess(make_source(table)).verdict) == checks


def test_an_id_of_a_recruiter_within_a_text_is_found() -> None:
    table = make_table().with_columns(response=pl.lit("I am PID77 of the study."))
    assert failed(assess(make_source(table, external_ids=frozenset({"PID77"}))).verdict) == ["external_ids"]


def test_an_unknown_column_named_like_a_question_is_not_published() -> None:
    comments = pl.format("Comment {} of {}.", "item_id", "rater_id").alias("Q_comment")
    assert "Q_comment" not in assess(make_source(make_table().with_columns(comments))).publication.table.columns


@pytest.mark.parametrize(
    "answers",
    [
        (pl.int_range(pl.len()) * 7 % 101).cast(pl.String),
        pl.int_range(pl.len()) % 5 + 1,
        pl.lit("no"),
        pl.when(pl.int_range(pl.len()) % 7 < 3).then(pl.lit("mild")).otherwise(pl.lit("severe")),
        pl.lit("mild").cast(pl.Enum(["mild", "severe"])),
    ],
)
def test_answers_of_a_scale_are_known_in_files(answers: pl.Expr) -> None:
    assessed = assess(make_source(make_table().with_columns(Q_severity=answers)))
    assert failed(assessed.verdict) == []
    assert "Q_severity" in assessed.publication.table.columns


def test_durations_are_no_answers() -> None:
    source = make_source(make_table().with_columns(Q_pause=pl.duration(seconds=5)))
    assert failed(assess(source).verdict) == ["columns"]


def test_sides_that_differ_within_raters_are_known() -> None:
    sides = pl.when(pl.int_range(pl.len()) % 5 < 2).then(pl.lit("a")).otherwise(pl.lit("b")).alias("shown_first")
    assessed = assess(make_source(make_table().with_columns(sides)))
    assert "columns" not in failed(assessed.verdict)
    assert "shown_first" in assessed.publication.table.columns


def test_only_questions_of_the_campaign_are_answers() -> None:
    table = make_table().with_columns(Q_other=pl.lit("Yes"))
    assert failed(assess(make_source(table, questions=("Q_overall", "Q_other"))).verdict) == []
    assert failed(assess(make_source(table, questions=("Q_overall",))).verdict) == ["columns"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.lit("ann").alias("shown_first"), "shown_first: 'ann' is not a or b"),
        (pl.lit("ann").alias("checks_passed"), "checks_passed: 'ann' is not a whole number"),
        (pl.lit("ann").alias("rater_flagged"), "rater_flagged: 'ann' is not true or false"),
        (pl.lit("ann").alias("open_time_ms"), "open_time_ms: 'ann' is not a number of milliseconds"),
        (pl.concat_list("rater_id").alias("item_note"), "item_note has lists, records, bytes"),
        (pl.lit(b"ann").alias("item_note"), "item_note has lists, records, bytes or durations"),
        (pl.duration(seconds=5).alias("open_time_ms"), "open_time_ms has lists, records, bytes or durations"),
        (pl.int_range(pl.len()).alias("checks_failed"), "Rater 'person-0' has several values of checks_failed"),
    ],
)
def test_a_column_with_other_values_is_refused(column: pl.Expr, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        assess(make_source(make_table().with_columns(column)))
    assert message in str(error.value)


def test_a_dropped_column_is_gone() -> None:
    assessed = assess(make_source(make_table().with_columns(worker=pl.lit("x"))), drop=["worker", "rater_age"])
    assert failed(assessed.verdict) == []
    assert {"worker", "rater_age"}.isdisjoint(assessed.publication.table.columns)


def test_pairs_tell_no_dropped_column() -> None:
    pair = {"item_response_b": "B", "item_model_a": "tern", "item_conversation": "c1", "item_edit": "Question 3"}
    told = {name: pl.lit(value) for name, value in pair.items()}
    preference = Preference(
        preference_id="item1",
        conversation_id="c1",
        context=(Turn("human", "Hello."),),
        a="A",
        b="B",
        criterion="more helpful",
        picks=(Pick("person-1", "b", 3),),
        models=("tern", "gull"),
    )
    source = make_source(
        make_table().with_columns(**told).rename({"Q_overall": "Q_preference"}),
        questions=("Q_preference",),
        question="Q_preference",
        preferences=(preference,),
    )
    assert assess(source).derived.pairs is not None
    for name in ("item_model_a", "item_conversation"):
        assert assess(source, drop=[name]).derived.pairs is None
    with pytest.raises(InvalidInput, match="drop: item_edit holds responses with which conversations went on"):
        assess(source, drop=["item_edit"])


def test_small_cells_are_refused_and_named() -> None:
    verdict = assess(make_source(make_table(SMALL))).verdict
    assert failed(verdict) == ["anonymity"]
    assert "Man × old: 2" in find_check(verdict, "anonymity").check.evidence
    assert "small_cells" in find_check(verdict, "anonymity").check.remedy


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("rater_flagged", "true", "false"),
        ("removed_by_authors", "1", "0"),
        ("checks_passed", 3, 4),
        ("checks_failed", 1, 0),
    ],
)
def test_flags_and_checks_count_as_attributes(name: str, value: object, other: object) -> None:
    of_one_rater = pl.when(rater_id=pl.lit("person-2")).then(pl.lit(value)).otherwise(pl.lit(other)).alias(name)
    source = make_source(make_table().with_columns(of_one_rater))
    assert failed(assess(source).verdict) == ["anonymity"]
    assert failed(assess(source, drop=[name]).verdict) == []
    left_out = assess(source, anonymity={"small_cells": "leave out"})
    assert failed(left_out.verdict) == []
    assert left_out.publication.left_out == {"person-2"}


def test_checks_are_blanked_before_attributes() -> None:
    few = pl.col("rater_id").is_in([f"person-{number}" for number in (0, 1, 6, 7, 8)])
    source = make_source(make_table().with_columns(checks_failed=few.cast(pl.Int64)))
    assessed = assess(source, anonymity={"small_cells": "blank", "k": 3})
    assert set(assessed.publication.blanked) == {"checks_failed", "rater_age", "rater_gender"}
    genders = assessed.publication.table.filter(pl.col("checks_failed") == 1)["rater_gender"].unique().to_list()
    assert genders == ["Woman"]


@pytest.mark.parametrize("word", [" NaN ", "None", ""])
def test_raters_without_an_answer_hide_nobody(word: str) -> None:
    silent = pl.col("rater_id").is_in(["person-0", "person-1"])
    table = make_table().with_columns(Q_overall=pl.when(silent).then(pl.lit(word)).otherwise("Q_overall"))
    assessed = assess(make_source(table))
    assert failed(assessed.verdict) == ["anonymity"]
    assert "Left out without an answer: 2 raters." in find_check(assessed.verdict, "anonymity").check.internal
    assert assessed.publication.table["rater_id"].n_unique() == 10


def test_answers_are_published_as_readers_read_them() -> None:
    """Spaces, words for missing answers and decimals of whole numbers are left out; numbers and orders stay."""
    row = pl.int_range(pl.len())
    order = pl.Enum(["None", "mild", "severe"])
    table = make_table().with_columns(
        Q_overall=pl.when(row % 5 == 0).then(pl.lit("None")).otherwise(pl.format(" {} ", "Q_overall")),
        Q_severity=pl.format("{}.0", row % 4),
        Q_speed=(row % 4).cast(pl.Float64),
        Q_harm=pl.when(row % 5 == 0).then(pl.lit("None")).otherwise(pl.lit("mild")).cast(order),
    )
    published = assess(make_source(table)).publication.table
    assert set(published["Q_overall"]) == {None, "No", "Unsure", "Yes"}
    assert set(published["Q_severity"]) == {"0", "1", "2", "3"}
    assert published["Q_speed"].dtype == pl.Float64
    assert published["Q_speed"].n_unique() == 4
    assert (published["Q_harm"].dtype, set(published["Q_harm"])) == (order, {"None", "mild"})


def test_a_value_in_one_row_is_that_of_the_rater() -> None:
    first = pl.col("item_id") == "item5"
    table = make_table().with_columns(rater_age=pl.when(first).then("rater_age"))
    assessed = assess(make_source(table))
    assert failed(assessed.verdict) == []
    assert assessed.publication.table.height == table.height
    assert set(assessed.publication.table["rater_age"]) == {"young"}


def test_wider_groups_mend_small_cells_and_the_loss_is_shown() -> None:
    groups = {"rater_age": {"any age": ["young", "old"]}}
    assessed = assess(make_source(make_table(SMALL)), anonymity={"groups": groups})
    assert failed(assessed.verdict) == []
    assert set(assessed.publication.table["rater_age"]) == {"any age"}
    loss = {(row.statistic, row.axis, row.group): (row.before, row.after) for row in assessed.verdict.loss}
    before, after = loss["alpha", None, None]
    assert before == after
    assert loss["gap", "rater_age", None][1] == 0
    assert loss["share", "rater_age", "old"][1] is None


@pytest.mark.parametrize("rule", ["blank", "leave out"])
def test_no_cell_is_small_after_suppression(rule: str) -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 9, 12).tolist()
    cells = {(gender, age): counts.pop() for gender in ("Man", "Woman", "Other") for age in "abcd"}
    source = make_source(make_table(cells, n_items=3))
    assessed = assess(source, anonymity={"small_cells": rule})
    raters = assessed.publication.table.unique("rater_id").select("rater_gender", "rater_age").rows()
    assert ("anonymity" in failed(assessed.verdict)) == (min(Counter(raters).values()) < 5)
    if rule == "leave out":
        assert failed(assessed.verdict) == []
        assert assessed.publication.raters.height == sum(n for n in cells.values() if n >= 5)
    assert assessed.verdict.loss


def test_values_of_the_named_axis_are_blanked_first() -> None:
    source = make_source(
        make_table({("Man", "young"): 6, ("Man", "old"): 3, ("Woman", "old"): 3, ("Woman", "young"): 6})
    )
    for first, blank in (("rater_age", {"rater_age": 6}), ("rater_gender", {"rater_gender": 6})):
        publication = assess(source, anonymity={"small_cells": "blank", "blank_first": [first]}).publication
        # Three blanks of each gender are too few, and six of one age are enough.
        assert publication.blanked == ({"rater_age": 6, "rater_gender": 6} if first == "rater_age" else blank)


def test_everybody_in_small_cells_leaves_nothing_to_release() -> None:
    verdict = assess(make_source(make_table(dict.fromkeys(UNEVEN, 2))), anonymity={"small_cells": "leave out"}).verdict
    assert failed(verdict) == ["anonymity"]
    assert verdict.loss == ()


def test_a_release_of_a_few_raters_without_attributes_is_refused() -> None:
    few = make_source(make_table({("Man", "young"): 4}))
    assert failed(assess(few, drop=["rater_gender", "rater_age"]).verdict) == ["anonymity"]


def test_unanimous_cells_are_refused_where_diversity_is_asked() -> None:
    table = make_table().with_columns(
        Q_overall=pl.when(pl.col("item_id") == "item3").then(pl.lit("Yes")).otherwise("Q_overall")
    )
    assert failed(assess(make_source(table)).verdict) == []
    verdict = assess(make_source(table), anonymity={"l": 2}).verdict
    assert failed(verdict) == ["diversity"]
    assert find_check(verdict, "diversity").check.evidence == ("Q_overall: 2 of 24 cells and items have fewer than 2.",)
    other = make_source(make_table().with_columns(Q_other=pl.lit("Yes")))
    assert failed(assess(other, anonymity={"l": 2}, question="Q_overall").verdict) == ["diversity"]


def test_answers_without_an_order_are_judged_for_diversity() -> None:
    kinds = pl.when(pl.int_range(pl.len()) % 12 < 5).then(pl.lit("mild")).otherwise(pl.lit("severe"))
    verdict = assess(make_source(make_table().with_columns(Q_kind=kinds)), anonymity={"l": 2}).verdict
    evidence = find_check(verdict, "diversity").check.evidence
    assert evidence[1] == "Q_kind: 24 of 24 cells and items have fewer than 2."


def test_a_second_showing_does_not_make_a_cell_diverse() -> None:
    table = make_table().with_columns(Q_overall=pl.lit("No"), repeat=pl.lit(1))
    again = table.with_columns(Q_overall=pl.lit("Yes"), repeat=pl.lit(2))
    verdict = assess(make_source(pl.concat([table, again])), anonymity={"l": 2}).verdict
    evidence = find_check(verdict, "diversity").check.evidence
    assert evidence == ("Q_overall: 24 of 24 cells and items have fewer than 2.",)


def name_questions(*questions: str, table: pl.DataFrame | None = None) -> Any:
    """The source of a campaign with questions of these names, the second of which has one answer."""
    table = (make_table() if table is None else table).rename({"Q_overall": questions[0]})
    return make_source(
        table.with_columns(pl.lit("No").alias(name) for name in questions[1:]),
        questions=questions,
        question=questions[0],
    )


@pytest.mark.parametrize("questions", [("harmful",), ("harmful", "polite"), ("Q_harmful", "polite")])
def test_questions_of_a_campaign_are_judged_under_any_name(questions: tuple[str, ...]) -> None:
    verdict = assess(name_questions(*questions), anonymity={"l": 2}).verdict
    evidence = find_check(verdict, "diversity").check.evidence
    assert tuple(line.split(":")[0] for line in evidence) == questions
    assert evidence[1:] == ("polite: 24 of 24 cells and items have fewer than 2.",) * (len(questions) - 1)
    assert failed(verdict) == (["diversity"] if len(questions) > 1 else [])


def test_the_only_question_of_a_campaign_is_that_of_evidence() -> None:
    assert assess(replace(name_questions("harmful"), question=None)).question == "harmful"


def test_changes_of_questions_are_counted_under_any_name() -> None:
    now = name_questions("harmful").table
    changed = (pl.col("rater_id") == "person-0") & (pl.col("item_id") == "item0")
    before = now.with_columns(harmful=pl.when(changed).then(pl.lit("Other")).otherwise(pl.format("{} ", "harmful")))
    changes = compare_releases(before, now, "harmful")
    assert changes.changed_ratings == 1
    assert changes.alpha[1] == pytest.approx(compare_releases(make_table(), make_table()).alpha[1])


def test_an_open_question_is_named() -> None:
    answers = {key: value for key, value in ANSWERS.items() if key != "ethics_review"}
    verdict = assess(answers=answers).verdict
    assert failed(verdict) == ["datasheet"]
    assert "ethics_review: Was there an ethical review?" in find_check(verdict, "datasheet").check.evidence
    with pytest.raises(InvalidInput, match="no question 'ethics'"):
        assess(answers={"ethics": "Yes."})


def test_the_documents_state_pay_recruiter_pool_and_questions() -> None:
    campaign = replace(load_campaign("dices-990"), pay=Pay(currency="GBP", hourly_rate=1250))
    source = make_source(campaign=campaign)
    assessed = assess(source)
    release = describe_release(
        *(source, make_plan(), assessed.publication, assessed.ratings, assessed.question),
        fingerprint=KEY.fingerprint,
        software="Dissensus",
        effects=ReleasedEffects(reason="None was asked for."),
    )
    datasheet = write_datasheet(release)
    assert "Recruited by links of the owner. An hour of work is paid 12.50 GBP." in datasheet
    assert "| Woman × India | 40 |" in datasheet
    assert KEY.fingerprint in datasheet
    by_day = replace(release, plan=make_plan(timestamps="day"))
    assert "Timestamps of answers are truncated to the day." in write_datasheet(by_day)
    assert "Timestamps" not in write_datasheet(replace(by_day, columns={"Q_overall": pl.String()}))
    recruited = replace(campaign, recruit=RecruitSettings(kind="prolific"))
    assert "Recruited by Prolific." in write_datasheet(replace(release, campaign=recruited))
    sampled = replace(campaign, gold=Gold(scale=("No", "Yes"), sample=400, sample_by=("topic",)))
    with_gold = replace(release, campaign=sampled, columns={**release.columns, "safety_gold": pl.String()})
    assert "a random sample of 400 items of the campaign, in the proportions of 'topic'" in write_datasheet(with_gold)
    with_text = replace(release, columns={**release.columns, "Q_overall_text": pl.String()})
    protocol = json.loads(write_croissant(with_text, path="ratings.csv", files={}))["rai:dataAnnotationProtocol"]
    assert protocol.startswith("Each rater answers 1 columns of questions about each item")


@pytest.mark.parametrize(
    "notation",
    [
        pl.col("Q_rating"),
        pl.col("Q_rating").cast(pl.Float64),
        pl.format("{}.0", "Q_rating"),
        pl.format(" {} ", "Q_rating"),
    ],
)
def test_the_datasheet_counts_answers_in_any_notation(notation: pl.Expr) -> None:
    table = make_table().with_columns(Q_rating=pl.int_range(pl.len()) % 5 + 1, repeat=pl.lit(1)).drop("Q_overall")
    again = table.filter(pl.col("item_id") == "item0").with_columns(repeat=pl.lit(2))
    table = pl.concat([table, again])
    source = make_source(table.with_columns(notation.alias("Q_rating")))
    assessed = assess(source)
    release = describe_release(
        *(source, make_plan(), assessed.publication, assessed.ratings, assessed.question),
        fingerprint=KEY.fingerprint,
        software="Dissensus",
        effects=ReleasedEffects(reason="None was asked for."),
    )
    expected = Counter(map(str, table["Q_rating"]))
    assert (dict(release.answers), sum(expected.values())) == (dict(sorted(expected.items())), 12 * 13)


# Attacks of a hostile reader


def test_complements_tell_nothing_of_raters_who_are_left_out() -> None:
    """Whatever is published is a function of the published rows: others' answers change nothing of it."""
    table = make_table(SMALL)
    old_men = table["rater_age"] == "old"
    flipped = table.with_columns(Q_overall=pl.when(old_men).then(pl.lit("Yes")).otherwise("Q_overall"))
    first, second = (assess(make_source(each), anonymity={"small_cells": "leave out"}) for each in (table, flipped))
    assert first.publication.table.equals(second.publication.table)
    assert first.verdict.loss != second.verdict.loss
    signed = [each.verdict.as_mapping()["checks"] for each in (first, second)]
    assert signed[0] == signed[1]


def test_two_releases_with_different_attributes_are_refused() -> None:
    """The gender is in one and the age in the other: together they show the only old woman."""
    source = make_source(make_table(UNEVEN))
    first = assess(source, drop=["rater_age"], anonymity={"k": 2})
    alone = assess(source, drop=["rater_gender"], anonymity={"k": 2})
    assert failed(first.verdict) == failed(alone.verdict) == []
    after_first = replace(source, previous=first.publication.table)
    verdict = assess(after_first, drop=["rater_gender"], anonymity={"k": 2}).verdict
    assert failed(verdict) == ["joins"]
    assert "1 of the matched" in find_check(verdict, "joins").check.evidence[1]
    assert failed(assess(after_first, drop=["rater_age"], anonymity={"k": 2}).verdict) == []


def test_new_ids_do_not_keep_equal_answers_from_being_joined() -> None:
    table = make_table(n_items=20)
    renamed = table.with_columns(rater_id="new-" + pl.col("rater_id"))
    joined = join_releases(renamed, table, ["Q_overall"], 5)
    assert (joined.n_matched, joined.by_ids) == (12, False)
    assert compare_releases(table, renamed, "Q_overall").gone_raters is None


def test_no_name_of_a_question_keeps_equal_answers_from_being_joined() -> None:
    source = name_questions("harmful", table=make_table(UNEVEN))
    first = assess(source, drop=["rater_age"], anonymity={"k": 2}).publication.table
    renamed = replace(source, previous=first.with_columns(rater_id="other-" + pl.col("rater_id")))
    assert failed(assess(renamed, drop=["rater_gender"], anonymity={"k": 2}).verdict) == ["joins"]


@pytest.mark.parametrize(
    "notation",
    [
        pl.col("Q_rating").cast(pl.Float64),
        pl.col("Q_rating").cast(pl.Float64).cast(pl.String),
        pl.format(" {} ", "Q_rating"),
        pl.col("Q_rating").cast(pl.String).cast(pl.Categorical),
        pl.when(pl.col("Q_rating") == 2.5).then(pl.lit("2.50")).otherwise(pl.col("Q_rating").cast(pl.String)),
    ],
)
@pytest.mark.parametrize("step", [1, 0.5])
def test_no_notation_of_answers_keeps_them_from_being_joined(step: float, notation: pl.Expr) -> None:
    numbers = pl.Series([random * step for random in np.random.default_rng(0).integers(2, 8, 12 * 12)])
    texts = pl.col("Q_rating").map_elements("{:g}".format, return_dtype=pl.String)
    table = make_table().with_columns(Q_rating=numbers if step < 1 else numbers.cast(pl.Int64))
    before = table.with_columns(texts)
    now = table.with_columns(notation.alias("Q_rating"), rater_id="new-" + pl.col("rater_id"))
    assert join_releases(now, before, ["Q_rating"], 5).n_matched == 12
    assert join_releases(before, now, ["Q_rating"], 5).n_matched == 12


def test_words_and_case_do_not_keep_answers_from_being_joined() -> None:
    """None in a release of an earlier version is an empty cell in the next one."""
    missing = pl.int_range(pl.len()) % 5 == 0
    before = make_table(n_items=20).with_columns(Q_a=pl.when(missing).then(pl.lit("None")).otherwise("Q_overall"))
    now = before.with_columns(
        Q_a=pl.when(missing).then(None).otherwise(pl.col("Q_overall").str.to_lowercase()),
        rater_id="new-" + pl.col("rater_id"),
    )
    assert join_releases(now, before, ["Q_a"], 5).n_matched == 12


def test_equal_ids_join_raters_whose_answers_are_alike() -> None:
    table = make_table().with_columns(Q_overall=pl.lit("Yes"))
    assert join_releases(table, table, ["Q_overall"], 5).n_matched == 12
    assert (
        join_releases(table.with_columns(rater_id="new-" + pl.col("rater_id")), table, ["Q_overall"], 5).n_matched == 0
    )


def test_many_raters_with_equal_answers_are_not_crossed() -> None:
    """Each of 20,000 raters could be any of 20,000: their pairs would not fit into memory."""
    ids = pl.Series(range(20_000)).cast(pl.String)
    before = pl.DataFrame({"item_id": "1", "rater_id": ids, "rater_gender": "Man", "Q_overall": "Yes"})
    joined = join_releases(before.with_columns(rater_id="new-" + pl.col("rater_id")), before, ["Q_overall"], 5)
    assert (joined.n_matched, joined.n_missing, joined.n_small) == (0, 0, 0)


def test_raters_who_are_not_found_again_still_hide_the_others() -> None:
    """Of six men, three changed an answer: nobody can tell which of the six a man is."""
    before = make_table({("Man", "young"): 6}, n_items=20)
    changed = pl.col("rater_id").is_in(["person-0", "person-1", "person-2"]) & (pl.col("item_id") == "item0")
    now = before.with_columns(
        rater_id="new-" + pl.col("rater_id"), Q_overall=pl.when(changed).then(pl.lit("None")).otherwise("Q_overall")
    )
    joined = join_releases(now, before, ["Q_overall"], 5)
    assert (joined.n_matched, joined.n_missing, joined.n_small) == (3, 3, 0)


def test_raters_without_a_common_item_are_not_found_again() -> None:
    before = make_table({("Man", "young"): 6}, n_items=20)
    now = before.with_columns(rater_id="new-" + pl.col("rater_id"))
    before, now = (
        table.with_columns(item_id=pl.when(table["rater_id"].str.ends_with("0")).then(pl.lit(new)).otherwise("item_id"))
        for table, new in ((before, "one"), (now, "another"))
    )
    joined = join_releases(now, before, ["Q_overall"], 5)
    assert (joined.by_ids, joined.n_matched, joined.n_missing) == (False, 5, 1)


def test_a_release_before_of_other_items_is_refused() -> None:
    other = make_table().with_columns(item_id="other-" + pl.col("item_id"))
    assert failed(assess(make_source(previous=other)).verdict) == ["joins"]


def test_ids_of_conversations_do_not_tell_when_they_began() -> None:
    began = "0197a3c4-1b2d-7e3f-8a4b-5c6d7e8f9a0b"
    table = make_table().with_columns(item_id=pl.col("item_id").replace("item3", began))
    items = assess(make_source(table)).publication.table["item_id"].unique().to_list()
    assert began not in items
    assert sum(item.startswith("c") for item in items) == 1


def test_times_and_order_do_not_tell_who_came_when() -> None:
    table = assess().publication.table
    assert table["answer_timestamp"].null_count() == table.height
    assert set(table["answer_time_ms"] % 5_000) == {0}
    order = table.filter(pl.col("item_id") == "item0")["rater_id"].to_list()
    assert order == sorted(order)
    for precision, expected in (("day", "2026-03-01"), ("month", "2026-03")):
        assert set(assess(timestamps=precision).publication.table["answer_timestamp"]) == {expected}


@pytest.mark.parametrize("factor", [1e3, 1e6, -1])
def test_times_in_milliseconds_are_refused(factor: float) -> None:
    times = pl.lit(1_772_368_215 * factor).cast(pl.Int64)
    for column in (times, times.cast(pl.String), times.cast(pl.Float64)):
        source = make_source(make_table().with_columns(answer_timestamp=column))
        with pytest.raises(InvalidInput, match="If it is in milliseconds"):
            assess(source, timestamps="day")


def test_dates_without_hyphens_are_no_unix_times() -> None:
    for column in (pl.lit(20260301), pl.lit("20260301")):
        source = make_source(make_table().with_columns(answer_timestamp=column))
        with pytest.raises(InvalidInput, match=r"between 2000 and 2100\..* If it is a date, write it like 2026-03-01"):
            assess(source, timestamps="day")


@pytest.mark.parametrize("dtype", [pl.Date(), pl.Datetime("ms"), pl.Datetime("us", "America/New_York")])
def test_times_of_a_type_are_truncated(dtype: pl.DataType) -> None:
    moment = pl.lit("2026-03-02T12:30:15.250").str.to_datetime().cast(dtype)
    source = make_source(make_table().with_columns(answer_timestamp=moment))
    for precision, expected in (("day", "2026-03-02"), ("month", "2026-03-01")):
        assessed = assess(source, timestamps=precision)
        assert failed(assessed.verdict) == []
        assert set(assessed.publication.table["answer_timestamp"].cast(pl.Date).cast(pl.String)) == {expected}


def test_a_moment_that_is_not_coarse_is_found() -> None:
    assessed = assess(timestamps="day")
    fine = assessed.publication.table.with_columns(answer_timestamp=pl.lit("2026-03-01T12:00"))
    check = check_times(replace(assessed.publication, table=fine), make_plan(timestamps="day"))
    assert not check.holds


def test_a_blank_time_is_no_time() -> None:
    blank = pl.when(pl.col("rater_id") == "person-0").then(pl.lit(" "))
    for text, expected in (
        ("2026-03-01T12:30", "2026-03-01"),
        ("2026-03-01T00:30+02:00", "2026-02-28"),
        ("1772368215", "1772323200"),
    ):
        table = make_table().with_columns(answer_timestamp=blank.otherwise(pl.lit(text)))
        published = assess(make_source(table), timestamps="day").publication.table
        assert set(published["answer_timestamp"]) == {None, expected}


def test_unix_times_become_the_begin_of_the_day_or_month() -> None:
    """Half past twelve on 2 March 2026."""
    source = make_source(make_table().with_columns(answer_timestamp=pl.lit("1772454615")))
    for precision, expected in (("day", "1772409600"), ("month", "1772323200")):
        table = assess(source, timestamps=precision).publication.table
        assert set(table["answer_timestamp"]) == {expected}


def test_durations_are_rounded_to_the_nearest_step() -> None:
    source = make_source(make_table().with_columns(answer_time_ms=pl.int_range(pl.len()) % 3 * 2 + 2498))
    for step, expected in ((5_000, {0, 5_000}), (1_000, {2_000, 3_000})):
        assert set(assess(source, round_times_ms=step).publication.table["answer_time_ms"]) == expected


def list_codes(answers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Item, rater and answer of each rating in a matrix of raters and items."""
    item, rater = (each.ravel() for each in np.meshgrid(*map(np.arange, answers.T.shape), indexing="ij"))
    return item, rater, answers.T.ravel()


def test_a_rare_answer_singles_out_its_rater() -> None:
    answers = np.zeros((20, 8), np.int16)
    answers[7] = 1
    attack = attack_membership(list_codes(answers), np.zeros(20, np.int64), known_answers=5)
    assert attack is not None
    assert (attack.by_answers, attack.n_raters) == (1 / 20, 20)


def test_known_attributes_single_out_more() -> None:
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 2, (30, 12)).astype(np.int16)
    attack = attack_membership(list_codes(answers), np.arange(30) // 5)
    assert attack is not None
    assert attack.by_answers_and_cell > attack.by_answers + 0.2
    # The expectation of the second, with answers by a coin: none of four others agrees five times.
    assert attack.by_answers_and_cell == pytest.approx((1 - 2**-5) ** 4, abs=0.06)
    assert attack_membership(list_codes(answers[:, :3]), np.zeros(30, np.int64)) is None


def test_amounts_of_work_single_out_whom_a_list_of_pay_tells() -> None:
    """Person 0 rated one item less, and only person 1 was slow: an outsider who knows either finds them."""
    table = (
        make_table()
        .with_columns(answer_time_ms=pl.when(rater_id=pl.lit("person-1")).then(90_000).otherwise(30_000))
        .filter((pl.col("rater_id") != "person-0") | (pl.col("item_id") != "item0"))
    )
    evidence = find_check(assess(make_source(table)).verdict, "membership").check.evidence
    assert evidence[1].startswith("Who knows how many rows a rater has singles out 8.3% of the raters")
    assert len(evidence) == 3
    # 55 seconds less of 360 are more than five percent too.
    assert "recruiters do, singles out 16.7% of the raters" in evidence[2]
    lone = table.filter((pl.col("item_id") != "item1") | (pl.col("rater_id") == "person-2"))
    told = find_check(assess(make_source(lone)).verdict, "membership").check.evidence[3]
    assert told.startswith("Items with one rater alone: 1.")
    assert attack_workload(np.array([100, 96, 90, 100]), np.array([0, 0, 0, 1]), error=0.05) == (0.25, 0.5)


def test_the_attack_of_many_raters_and_items_needs_little_memory() -> None:
    """A matrix of these raters and items would have 4 GB."""
    n_raters, n_items = 20_000, 100_000
    rater = np.repeat(np.arange(n_raters), 5)
    item = np.random.default_rng(0).permutation(np.arange(len(rater)) % n_items)
    order = np.lexsort((rater, item))
    attack = attack_membership((item[order], rater[order], rater[order] % 2), np.zeros(n_raters, int), draws=1)
    assert attack is not None
    assert (attack.n_raters, attack.n_tried) == (n_raters, MAX_RATERS)
    assert attack.by_answers == 1


def test_free_texts_of_raters_are_left_out_and_personal_data_redacted() -> None:
    table = make_table().with_columns(
        response=pl.lit("Write to ann@example.org."), rater_gender_text=pl.lit("I am Ann Lee of 3 Oak Street.")
    )
    published = assess(make_source(table)).publication
    assert "rater_gender_text" not in published.table.columns
    assert set(published.table["response"]) == {"Write to [email address]."}
    verdict = assess(make_source(table), redact=False).verdict
    assert "response of item0: email_address" in find_check(verdict, "texts").check.evidence
    with_text = assess(make_source(table), with_text=True).publication
    assert set(with_text.table["rater_gender_text"]) == {"I am Ann Lee of [street address]."}


def test_texts_of_items_are_published_and_screened() -> None:
    table = make_table().drop("context", "response").with_columns(item_text=pl.lit("Write to ann@example.org."))
    assessed = assess(make_source(table))
    assert set(assessed.publication.table["item_text"]) == {"Write to [email address]."}
    assert "item_text of item0: email_address" in find_check(assessed.verdict, "texts").check.evidence


def test_ids_of_dices_350_are_too_few_in_most_cells(real_data: Any) -> None:
    """23 of 29 cells of gender, race and age hold fewer than five of its 104 raters, and 4 hold one."""
    ratings = read_ratings(real_data("dices-350/ratings.csv")).exclude_flagged()
    cells = count_cells(ratings.raters, ["rater_gender", "rater_race", "rater_age"])
    assert (ratings.n_raters, cells.height) == (104, 29)
    assert (cells["n_raters"] < 5).sum() == 23
    assert (cells["n_raters"] == 1).sum() == 4


def test_raters_of_dices_350_are_singled_out_as_the_promises_say(real_data: Any) -> None:
    """The figures of the page for ethics boards: by answers to few items, and by the whole time of a rater."""
    ratings = read_ratings(real_data("dices-350/ratings.csv")).exclude_flagged()
    cells = number_cells(ratings, ratings.raters, ("rater_gender", "rater_race", "rater_age"))
    attacks = [attack_membership(ratings.codes("Q_overall"), cells, known_answers=n) for n in (5, 10, 20)]
    answers = [(attack.by_answers, attack.by_answers_and_cell) for attack in attacks if attack is not None]
    profiles = pl.read_csv(real_data("dices-350/rater_profiles.csv"), schema_overrides={"rater_id": pl.String})
    times = ratings.raters.join(profiles, on="rater_id", how="left", maintain_order="left")["mean_answer_time_ms"] * 350
    shares = [*answers, attack_workload(times.to_numpy(), cells, error=TIME_ERROR)]
    rounded = [f"{alone:.0%} and {with_cell:.0%}" for alone, with_cell in shares]
    assert rounded == ["20% and 75%", "66% and 92%", "93% and 98%", "4% and 62%"]
    page = (ROOT / "docs/release-promises.md").read_text("utf-8")
    assert all(text.replace("%", " %") in page for text in rounded)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": "one"}, 'version: Write numbers with points: "1.0"'),
        ({"campaign": "pilot"}, "campaign: Name either a campaign of the site, or a file of ratings."),
        ({"title": None}, "title: It is missing. No campaign says it."),
        ({"creators": None}, "creators: They are missing."),
        ({"anonymity": {"k": 1}}, "anonymity.k: It is 1. Write a whole number from 2"),
        ({"anonymity": {"small_cells": "hide"}}, "Allowed are 'refuse', 'blank', 'leave out'"),
        ({"with_images": True}, "with_images: Images are released from campaigns alone. Remove it."),
        ({"timestamps": "second"}, "Allowed are 'none', 'month', 'day'"),
        ({"round_times_ms": 1}, "Write a whole number from 1,000"),
        ({"lisence": "MIT"}, "There is no key 'lisence'. Did you mean 'licence'"),
        ({"signatures": [{"check": "texts", "by": "Ada"}]}, "code: It is missing"),
    ],
)
def test_an_invalid_plan_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        make_plan(**changes)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"drop": ["rater_agee"]}, "There is no column 'rater_agee'. Did you mean 'rater_age'"),
        ({"drop": ["rater_id"]}, "rater_id tells ratings apart"),
        ({"anonymity": {"groups": {"rater_race": {"a": ["b"]}}}}, "'rater_race' is not a published attribute"),
        ({"anonymity": {"groups": {"rater_age": {"a": ["yung"]}}}}, "No rater has 'yung'. Did you mean 'young'"),
        ({"anonymity": {"blank_first": ["age"]}}, "'age' is not a published attribute"),
    ],
)
def test_a_plan_that_does_not_fit_the_table_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        assess(**changes)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("rater_id").alias("rater_id"), "rater_id"),
        (
            pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("old")).otherwise("rater_age").alias("rater_age"),
            "has two values of rater_age",
        ),
        (pl.lit("person-0").alias("rater_id"), "rated item 'item0'"),
    ],
)
def test_a_table_with_a_fault_is_refused(change: pl.Expr, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        assess(make_source(make_table().with_columns(change)))
    assert message in str(error.value)


def test_blanks_around_a_value_do_not_make_two_raters_or_groups() -> None:
    padded = pl.when(pl.int_range(pl.len()) % 5 == 0)
    table = make_table().with_columns(
        padded.then(pl.format(" {} ", name)).otherwise(name).alias(name) for name in ("rater_id", "rater_age")
    )
    source = make_source(table, consented=frozenset(make_table()["rater_id"]))
    assessed = assess(source)
    assert assessed.publication.raters.height == 12
    assert set(assessed.publication.raters["rater_age"]) == {"young"}
    assert failed(assessed.verdict) == []
    all_padded = table.with_columns(rater_id=pl.format(" {} ", pl.col("rater_id").str.strip_chars()))
    of_padded = replace(source, table=all_padded, withdrawn=frozenset({"person-3"}))
    assert failed(assess(of_padded).verdict) == ["withdrawals"]


@pytest.mark.parametrize("text", ["yesterday", "0001-01-01T00:00:00+05:00"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    source = make_source(make_table().with_columns(answer_timestamp=pl.lit(text)))
    with pytest.raises(InvalidInput, match=f"'{re.escape(text)}' is not a time"):
        assess(source, timestamps="day")


def test_a_year_of_three_digits_keeps_its_zero() -> None:
    source = make_source(make_table().with_columns(answer_timestamp=pl.lit("0999-05-04T10:00:00")))
    assessed = assess(source, timestamps="month")
    assert set(assessed.publication.table["answer_timestamp"]) == {"0999-05"}
    assert find_check(assessed.verdict, "times").outcome == "passed"


def test_the_plan_in_the_docs_is_valid() -> None:
    text = (ROOT / "docs/release.md").read_text("utf-8")
    plan = text.split("```toml\n")[1].split("```")[0]
    assert parse_plan(plan).name == "pilot"
