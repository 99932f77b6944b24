"""Requests for reports: their words, and their JSON."""

import pytest

from dissensus.campaign.report_request import ReportRequest, parse_report_request

EVERYTHING = ReportRequest(
    question="Q_safe",
    axes=("rater_age",),
    cross=("rater_age*rater_native_language",),
    attribute="topic",
    value="health",
    axis="rater_gender",
    group="Woman",
    exclude_flagged=True,
    inference=False,
    seed=7,
)


@pytest.mark.parametrize(
    ("report_request", "words"),
    [
        (ReportRequest(), "All"),
        (ReportRequest(inference=False), "without tests and intervals"),
        (ReportRequest(exclude_flagged=True), "without flagged raters"),
        (ReportRequest(axes=("rater_age", "rater_gender")), "by age, gender"),
        (ReportRequest(cross=("rater_age*rater_gender",)), "by age × gender"),
        (
            EVERYTHING,
            "Q_safe; by age, age × native language; items with topic = health; raters with gender = Woman; "
            "without flagged raters; without tests and intervals",
        ),
    ],
)
def test_a_request_is_described_by_the_options_that_differ(report_request: ReportRequest, words: str) -> None:
    assert report_request.description == words


@pytest.mark.parametrize("report_request", [ReportRequest(), EVERYTHING])
def test_a_request_is_that_of_its_json(report_request: ReportRequest) -> None:
    assert parse_report_request(report_request.to_json()) == report_request
