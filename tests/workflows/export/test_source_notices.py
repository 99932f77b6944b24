"""Content warning and terms of other datasets: from the fetch to exports and releases."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.support.campaigns import NOW, definition
from tests.support.file_server import serving
from tests.support.rated_campaigns import rated_campaign

from dissensus.files.catalogue import DatasetFile, load_dataset
from dissensus.files.fetch import fetch
from dissensus.files.item_import import read_text_table
from dissensus.files.items import read_items
from dissensus.files.pairs.items import read_pair_items
from dissensus.pipeline.release.source_notices import describe_warnings
from dissensus.schema.records.source_notice import SOURCE
from dissensus.store.items import ItemTable
from dissensus.workflows.export import ratings as ratings_workflow
from dissensus.workflows.platform.platform import Platform

PATH = "harmless-base/test.jsonl.gz"
PAIR = {"chosen": "\n\nHuman: Hi\n\nAssistant: Hello.", "rejected": "\n\nHuman: Hi\n\nAssistant: Go away."}
FROM_HH = "What the authors of hh-rlhf say of their data in the README of the dataset; Dissensus does not vouch for it:"


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of hh-rlhf, fetched from a server on this machine, of which the catalogue knows no digest."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    body = gzip.compress(json.dumps(PAIR).encode() + b"\n", mtime=0)
    dataset = replace(load_dataset("hh-rlhf"), files=(DatasetFile(path=PATH),))
    with serving({PATH: body}) as server:
        fetch(dataset, tmp_path / "hh", mirror=server.address("whole"))
    return tmp_path / "hh"


def test_fetched_files_keep_what_their_authors_say(fetched: Path) -> None:
    notice = (fetched / "NOTICE.md").read_text("utf-8")
    assert FROM_HH in notice
    for said in (
        "- Licence: MIT, Anthropic",
        "- Citation: Bai et al. 2022, Training a Helpful and Harmless Assistant",
        "- Contact: redteam@anthropic.com",
        "- Purpose: The data are intended for research purposes, especially research that can make models",
        "in accordance with your own personal risk tolerance",
    ):
        assert said in notice
    for read in (read_items, read_pair_items):
        assert {item.attributes[SOURCE] for item in read(fetched / PATH).items} == {"hh-rlhf"}
    assert read_text_table(fetched / PATH)[SOURCE].to_list() == ["hh-rlhf"]
    # A changed file is not known, and a column of the owner comes first.
    (fetched / PATH).write_bytes(gzip.compress(json.dumps({**PAIR, SOURCE: "ours"}).encode()))
    assert {item.attributes[SOURCE] for item in read_items(fetched / PATH).items} == {"ours"}


def test_an_export_has_the_warning_and_the_terms_of_its_sources(platform: Platform, tmp_path: Path) -> None:
    campaign = rated_campaign(platform, 2, 2)
    with platform.database.writing() as tx:
        for number, source in enumerate(("hh-rlhf", "a set of ours")):
            content = {"turns": [{"speaker": "bot", "text": "Hi."}], "attributes": {SOURCE: source}}
            row = update(ItemTable).where(ItemTable.campaign_id == campaign.id, ItemTable.name == f"{number}")
            tx.execute(row.values(content=content))
    readme = ratings_workflow.export_ratings(platform, "crowded", tmp_path / "out.csv", now=NOW).readme.read_text()
    assert "Content warning: " in readme
    assert FROM_HH in readme
    assert "Items are from a set of ours, of whose terms and warnings Dissensus knows nothing." in readme


def test_the_warning_is_in_every_language() -> None:
    campaign = replace(definition(), languages=("en", "de"), warning={"en": "It offends.", "de": "Es verletzt."})
    assert list(describe_warnings(campaign, ())) == [
        "Content warning: It offends.",
        "Content warning: Es verletzt.",
        "",
    ]
