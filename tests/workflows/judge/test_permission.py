"""Texts of a campaign leave the machine for a judge with the recorded permission of its owner alone."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.campaigns import NOW, definition, items, open_campaign, owner

from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.schema.campaign.chatbot import Chatbot, Endpoint, LocalModel
from dissensus.store import audit_log
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.items import withhold_items
from dissensus.workflows.judge.permission import load_judged_campaign, permit_judge, record_judging
from dissensus.workflows.judge.run import JudgeRun
from dissensus.workflows.platform.platform import Platform

URL = "https://api.example.com/v1"


def test_a_permission_is_recorded_and_bound_to_its_address(platform: Platform, tmp_path: Path) -> None:
    staff_id = owner(platform.database)
    row = campaigns.create_campaign(platform, definition(), items(3), staff_id=staff_id, now=NOW)
    judged = load_judged_campaign(platform, "pilot", staff_id=staff_id)
    assert (judged.questionnaire, judged.items) == (definition().questionnaire, items(3))
    judge = Chatbot(name="tern", source=Endpoint(url=URL, model="t"), model_type="rlhf", version="2")
    run = JudgeRun(judge=judge, items=judged.items, questionnaire=judged.questionnaire, folder=tmp_path)
    with pytest.raises(NotAllowed, match="may leave this machine for no address, and tern is at https://api"):
        record_judging(platform, "pilot", run, 9, staff_id=staff_id, now=NOW)
    permit_judge(platform, "pilot", f"{URL}/", staff_id=staff_id, now=NOW)
    permit_judge(platform, "pilot", URL, staff_id=staff_id, now=NOW)
    record_judging(platform, "pilot", run, 9, staff_id=staff_id, now=NOW)
    elsewhere = replace(run, judge=replace(judge, source=Endpoint(url="https://other.example/v1", model="t")))
    with pytest.raises(NotAllowed, match="dissensus judge permit pilot --url https://other"):
        record_judging(platform, "pilot", elsewhere, 9, staff_id=staff_id, now=NOW)
    permit_judge(platform, "pilot", None, staff_id=staff_id, now=NOW)
    with pytest.raises(NotAllowed, match="may leave this machine for no address"):
        record_judging(platform, "pilot", run, 9, staff_id=staff_id, now=NOW)
    local = replace(run, judge=replace(judge, source=LocalModel()))
    record_judging(platform, "pilot", local, 9, staff_id=staff_id, now=NOW)
    with platform.database.reading() as tx:
        permitted = [event.content["url"] for event in audit_log.iterate_events(tx, row.id, "judge_permitted")]
        judged_events = [event.content for event in audit_log.iterate_events(tx, row.id, "judged")]
    assert permitted == [URL, None]
    assert [(event["url"], event["items"], event["requests"]) for event in judged_events] == [(URL, 3, 9), (None, 3, 9)]
    with pytest.raises(InvalidInput, match="https"):
        permit_judge(platform, "pilot", "http://api.example.com/v1", staff_id=staff_id, now=NOW)
    stranger = owner(platform.database, "stranger")
    with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
        permit_judge(platform, "pilot", URL, staff_id=stranger, now=NOW)


def test_withheld_items_are_not_judged(platform: Platform) -> None:
    staff_id = open_campaign(platform).staff_id
    withhold_items(platform, "pilot", [0], withheld=True, staff_id=staff_id, now=NOW)
    judged = load_judged_campaign(platform, "pilot", staff_id=staff_id)
    assert [item.item_id for item in judged.items] == ["item-1", "item-2"]
