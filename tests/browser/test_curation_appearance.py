"""The pages of curation in a real browser: sound in both schemes and on a phone."""

from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Page
from tests.support.staff_pages import check_page

pytestmark = pytest.mark.usefixtures("signed_in_owner")
TOPICS = ["Health", "Legal, Violent/Gory", "Racist/Racial, Religion, Sexist/Gender and everything else that was named"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Ninety conversations; some are duplicates, contain an address or have no topic."""
    answers = [f"In shop number {number} they sell knives for {number * 7 % 90} euros." for number in range(90)]
    answers[41] = answers[40].upper()
    answers[60] += " Write to ann@example.org."
    frame = pl.DataFrame(
        {
            "item_id": [f"conversation-{number:02}" for number in range(90)],
            "context": "USER: Where can I buy a knife?",
            "response": answers,
            "harm_type": [None if number == 7 else TOPICS[number % 3] for number in range(90)],
            "safety_gold": [["Yes", "No"][number % 5 > 1] for number in range(90)],
            "source_row": [f"row {number}" for number in range(90)],
        }
    )
    path = tmp_path / "corpus.csv"
    frame.write_csv(path)
    return path


def test_a_corpus_becomes_a_campaign_form(page: Page, corpus: Path) -> None:
    page.get_by_role("link", name="Draw a sample").click()
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("alert").wait_for()
    check_page(page, "curation")
    page.get_by_label("File of conversations").set_input_files(corpus)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Number of items").fill("many")
    page.get_by_role("checkbox", name="harm_type").check()
    page.get_by_label("Seed").fill("?")
    page.get_by_role("button", name="Draw sample").click()
    page.get_by_role("alert").wait_for()
    page.get_by_text("The two samples of DICES").click()
    check_page(page, "curation-plan")
    page.get_by_label("Number of items").fill("30")
    page.get_by_label("Seed").fill("7")
    page.get_by_role("radio", name="Equal for each stratum").check()
    page.get_by_role("checkbox", name="Duplicates and near duplicates").check()
    page.get_by_role("checkbox", name="All kinds").check()
    page.get_by_role("button", name="Draw sample").click()
    page.get_by_role("heading", name="A sample of 30 items").wait_for()
    page.get_by_text("Numbers per stratum", exact=True).click()
    check_page(page, "curation-drawn")
    for name, file in (("Download the sample", "sample.jsonl"), ("Download the plan", "plan.json")):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == file
    page.get_by_role("button", name="Change the plan").click()
    assert page.get_by_label("Number of items").input_value() == "30"
    page.get_by_role("button", name="Draw sample").click()
    page.get_by_role("button", name="Create a campaign from this sample").click()
    page.get_by_text("30 items are kept from the last step").wait_for()
    check_page(page, "curation-campaign")
