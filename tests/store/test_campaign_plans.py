"""Plans of campaigns in the store."""

from datetime import timedelta

from tests.support.campaigns import NOW, definition, open_campaign

from dissensus.store.core.database import Database
from dissensus.store.planning import campaign_plans
from dissensus.store.planning.campaign_plans import NewPlan
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform

MINUTE = timedelta(minutes=1)


def test_a_campaign_has_its_own_plans_the_latest_first(database: Database) -> None:
    platform = Platform(database)
    pilot = open_campaign(platform)
    staff_id = pilot.staff_id
    other = campaigns.create_campaign(platform, definition("other"), (), staff_id=staff_id, now=NOW)
    pool, groups = NewPlan(question="pool", file="{}"), NewPlan(question="groups", file="{}")
    precision = NewPlan(question="precision", file='{"raters": 9}', content="[]")
    with database.writing() as tx:
        first, second, foreign = (
            campaign_plans.add_plan(tx, campaign_id, plan, staff_id=staff_id, now=NOW + minutes * MINUTE)
            for minutes, (campaign_id, plan) in enumerate(((pilot.id, pool), (pilot.id, groups), (other.id, precision)))
        )
        assert [row.id for row in campaign_plans.list_plans(tx, pilot.id)] == [second, first]
        (row,) = campaign_plans.list_plans(tx, other.id)
        assert (row.id, row.question) == (foreign, "precision")
        assert campaign_plans.find_plan(tx, pilot.id, foreign) is None
        assert campaign_plans.find_plan(tx, other.id, foreign) == (row, precision.file, precision.content)


def test_the_latest_plans_and_the_adopted_one_are_not_deleted(database: Database) -> None:
    platform = Platform(database)
    pilot = open_campaign(platform)
    other = campaigns.create_campaign(platform, definition("other"), (), staff_id=pilot.staff_id, now=NOW)
    new_plan = NewPlan(question="pool", file="{}")
    with database.writing() as tx:
        ids = [
            campaign_plans.add_plan(tx, campaign_id, new_plan, staff_id=pilot.staff_id, now=NOW + minutes * MINUTE)
            for minutes, campaign_id in enumerate((other.id, pilot.id, pilot.id, pilot.id, pilot.id, pilot.id))
        ]
        campaign_plans.mark_adopted(tx, other.id, ids[0], now=NOW)
        for adopted_id in (ids[3], ids[1]):
            campaign_plans.mark_adopted(tx, pilot.id, adopted_id, now=NOW)
        campaign_plans.delete_oldest_plans(tx, pilot.id, most=2)
        plans = campaign_plans.list_plans(tx, pilot.id)
        assert [(row.id, row.adopted_at) for row in plans] == [(ids[5], None), (ids[4], None), (ids[1], NOW)]
        assert [(row.id, row.adopted_at) for row in campaign_plans.list_plans(tx, other.id)] == [(ids[0], NOW)]
