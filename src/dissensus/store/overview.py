"""Counts of a campaign and of the platform, and the items of a campaign in lists, with their reports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, get_args

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    String,
    and_,
    func,
    literal,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.orm import aliased

from dissensus.campaign.filters.item_filter import ItemCursor, ItemFilter
from dissensus.pipeline.monitor import WITHIN
from dissensus.schema.records.item import Item
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import IS_FIRST, AssignmentState, AssignmentTable
from dissensus.store.chats import ChatExchangeTable, ChatTable, count_matching_chats
from dissensus.store.core.orm import list_rows
from dissensus.store.gold import GoldProgressTable
from dissensus.store.items import ItemTable, contains_text, count_items, to_item
from dissensus.store.monitoring import ItemSummaryTable
from dissensus.store.notices import NoticeTable, select_illegal_reports
from dissensus.store.raters import InvitationTable, RaterState, RaterTable
from dissensus.store.staff import StaffTable

RATER_STATES: tuple[RaterState, ...] = get_args(RaterState)
FEW_ITEMS: Final = 200
"""Items of a filter up to which their summaries are looked up one by one."""
N_ATTRIBUTE_SAMPLE: Final = 200
"""Items whose attributes are offered as filters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """Numbers of a campaign in a list, without previews and dry runs."""

    n_items: int
    raters: Mapping[RaterState, int]
    n_done: int  # Rated items of all raters, without second showings
    n_chats: int = 0  # Ended conversations


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignNumbers(CampaignProgress):
    """All numbers of a campaign, without previews and dry runs."""

    n_rehearsals: int  # Previews and dry runs
    n_skipped: int
    loads: tuple[tuple[int, int], ...]  # Pairs of load and number of items with it, lowest load first
    n_invited: int  # Personal links
    n_entered: int  # Personal links by which somebody entered
    n_exchanges: int = 0


def load_campaign_progress(tx: Connection, campaign_id: str) -> CampaignProgress:
    """Return the numbers of a campaign that lists show."""
    load = tx.scalar(select(func.sum(ItemTable.load)).where(ItemTable.campaign_id == campaign_id)) or 0
    return _to_progress(tx, campaign_id, load)


def _to_progress(tx: Connection, campaign_id: str, load: int) -> CampaignProgress:
    """Return the numbers that lists show, given the load of all items.

    The load of an item counts assignments that are open or done, so that the many done ones need no reading.
    """
    in_campaign = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal
    return CampaignProgress(
        n_items=count_items(tx, campaign_id),
        raters=count_raters(tx, campaign_id),
        n_done=load - _count_assignments(tx, campaign_id, "open"),
        n_chats=count_matching_chats(tx, in_campaign & (ChatTable.state == "done")),
    )


def load_campaign_numbers(tx: Connection, campaign_id: str) -> CampaignNumbers:
    """Return all numbers of a campaign."""
    owned = RaterTable.campaign_id == campaign_id
    loads = tx.execute(
        select(ItemTable.load, func.count())
        .where(ItemTable.campaign_id == campaign_id)
        .group_by(ItemTable.load)
        .order_by(ItemTable.load)
    ).all()
    progress = _to_progress(tx, campaign_id, sum(load * n for load, n in loads))
    rehearsals = select(func.count()).select_from(RaterTable).where(owned, RaterTable.rehearsal)
    entered = select(func.count(RaterTable.invitation_hash)).where(owned)
    return CampaignNumbers(
        n_items=progress.n_items,
        raters=progress.raters,
        n_rehearsals=tx.scalar(rehearsals) or 0,
        n_done=progress.n_done,
        n_skipped=_count_assignments(tx, campaign_id, "skipped"),
        loads=tuple((load, n) for load, n in loads),
        n_invited=count_invitations(tx, campaign_id),
        n_entered=tx.scalar(entered) or 0,
        n_chats=progress.n_chats,
        n_exchanges=_count_exchanges(tx, owned),
    )


def count_invitations(tx: Connection, campaign_id: str) -> int:
    """Count the personal links of a campaign."""
    query = select(func.count()).select_from(InvitationTable).where(InvitationTable.campaign_id == campaign_id)
    return tx.scalar(query) or 0


def _count_assignments(tx: Connection, campaign_id: str, state: AssignmentState) -> int:
    """Count the first showings in a state, of raters."""
    # A literal: for a parameter databases do not use the partial indexes of open and of skipped assignments.
    in_state = AssignmentTable.state == literal(state, literal_execute=True)
    # Rater by rater, which reads the index alone and joins no row.
    of_rater = select(func.count()).where(AssignmentTable.rater_id == RaterTable.id, in_state, IS_FIRST)
    in_campaign = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal
    return int(tx.scalar(select(func.sum(of_rater.scalar_subquery())).where(in_campaign)) or 0)


def _count_exchanges(tx: Connection, in_campaign: ColumnElement[bool]) -> int:
    exchanges = (
        select(func.count())
        .select_from(ChatExchangeTable)
        .join(ChatTable, ChatTable.id == ChatExchangeTable.chat_id)
        .join(RaterTable, RaterTable.id == ChatTable.rater_id)
    )
    return tx.scalar(exchanges.where(in_campaign, ~RaterTable.rehearsal)) or 0


def count_raters(tx: Connection, campaign_id: str | None = None) -> dict[RaterState, int]:
    """Count raters by state, of a campaign or of all."""
    query = select(RaterTable.state, func.count()).where(~RaterTable.rehearsal).group_by(RaterTable.state)
    query = query if campaign_id is None else query.where(RaterTable.campaign_id == campaign_id)
    by_state = dict(tx.execute(query).all())
    return {state: by_state.get(state, 0) for state in RATER_STATES}


def find_last_save_number(tx: Connection) -> int:
    """Return the number of the last save, 0 without any."""
    return tx.scalar(select(func.max(SaveTable.number))) or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedItem:
    """An item in a list, with the answers to one question."""

    position: int  # Zero-based
    name: str
    text: str  # Of the first turn
    withheld: bool
    counts: tuple[int, ...]  # Empty without ratings
    disagreement: float | None  # Within all raters
    distance: float | None  # Sorting value; None in the order of positions
    n_skipped: int = 0
    n_reports: int = 0


def list_items_after(
    tx: Connection,
    campaign_id: str,
    item_filter: ItemFilter,
    *,
    after: ItemCursor | None = None,
    most: int,
) -> tuple[ListedItem, ...]:
    """Return items in the order of a filter after one of them."""
    rows = tx.execute(_select_list(tx, campaign_id, item_filter).limit(after, most=most)).all()
    skipped, reports = _count_flags(tx, [row.id for row in rows])
    return tuple(_to_listed_item(row, skipped, reports) for row in rows)


def find_neighbours(
    tx: Connection, campaign_id: str, item_filter: ItemFilter, place: ItemCursor
) -> tuple[int | None, int | None]:
    """Return the positions of the items before and after a place in a list, None at its ends."""
    item_list = _select_list(tx, campaign_id, item_filter)
    before = tx.scalar(item_list.limit(place, backwards=True, most=1))
    return before, tx.scalar(item_list.limit(place, most=1))


@dataclass(frozen=True, slots=True)
class _ItemList:
    """Query of the items of a filter, and the columns of its order."""

    query: Select[Any]
    rank: Any  # Sorting value, None in the order of positions
    position: Any

    def limit(self, after: ItemCursor | None, *, backwards: bool = False, most: int) -> Select[Any]:
        """Return the query of items after a place, or backwards before it."""
        query = self.query
        if after is not None:
            query = query.where(_is_after(self.rank, self.position, after, backwards=backwards))
        order: list[ColumnElement[Any]] = [self.position.desc() if backwards else self.position.asc()]
        if self.rank is not None:
            order.insert(0, self.rank.asc() if backwards else self.rank.desc())
        return query.order_by(*order).limit(most)


def _select_list(tx: Connection, campaign_id: str, item_filter: ItemFilter) -> _ItemList:
    """Return the query of a list; a filter that leaves few items is answered here, once for all parts of the list."""
    within, ranked = aliased(ItemSummaryTable), aliased(ItemSummaryTable)
    columns = (ItemTable.id, ItemTable.name, ItemTable.withheld, within.counts, within.disagreement)
    first_text = ItemTable.content["turns"][0]["text"].as_string().label("text")
    rank: Any = ranked.disagreement if item_filter.axis is not None else None
    position = ItemTable.position
    joined = _is_summary(within, item_filter.question, WITHIN)
    in_list = and_(ItemTable.campaign_id == campaign_id, *_filter_items(tx, campaign_id, item_filter, within))
    query = select(ItemTable.position, *columns, first_text).outerjoin(within, joined)
    if rank is not None:
        of_item = _is_summary(ranked, item_filter.question, item_filter.axis)
        few = _list_few_items(tx, select(ItemTable.id).outerjoin(within, joined).where(in_list), item_filter)
        if few is not None:
            in_list = ItemTable.id.in_(few)
        if few is not None and tx.dialect.name == "sqlite":
            # Looked up one by one: SQLite would read all summaries in their order.
            rank = select(rank).where(of_item).correlate(ItemTable).scalar_subquery()
        else:
            # The position of the summary, so that its index has the order.
            query, position = query.join(ranked, of_item), ranked.position
        query = query.add_columns(rank.label("distance")).where(rank.is_not(None))
    return _ItemList(query.where(in_list), rank, position)


def _list_few_items(tx: Connection, query: Select[str], item_filter: ItemFilter) -> Sequence[str] | None:
    """Return the items of a list if a filter leaves few of them, otherwise None."""
    if not item_filter.is_selective:
        return None
    item_ids = tx.scalars(query.limit(FEW_ITEMS + 1)).all()
    return item_ids if len(item_ids) <= FEW_ITEMS else None


def _is_summary(table: Any, question: str | None, axis: str | None) -> ColumnElement[bool]:
    return and_(
        table.campaign_id == ItemTable.campaign_id,
        table.position == ItemTable.position,
        table.question == question,
        table.axis == axis,
    )


def _is_after(sort_value: Any, position: Any, after: ItemCursor, *, backwards: bool) -> ColumnElement[bool]:
    value, at = after
    beyond: ColumnElement[bool] = position < at if backwards else position > at
    if sort_value is None:
        return beyond
    # The first condition is a range of the index.
    within = sort_value >= value if backwards else sort_value <= value
    further = sort_value > value if backwards else sort_value < value
    return and_(within, or_(further, beyond))


def _filter_items(tx: Connection, campaign_id: str, item_filter: ItemFilter, within: Any) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if item_filter.search:
        conditions.append(contains_text(item_filter.search))
    if item_filter.attribute:
        attribute = ItemTable.content["attributes"][item_filter.attribute].as_string()
        conditions += [*_is_written(tx, item_filter.value), attribute == item_filter.value]
    if item_filter.gold:
        conditions.append(_has_gold(item_filter.gold))
    if item_filter.answer is not None:
        conditions.append(within.counts[item_filter.answer].as_integer() > 0)
    if item_filter.flag == "withheld":
        conditions.append(ItemTable.withheld.is_(True))
    elif item_filter.flag == "reported":
        # From the raters of the campaign, so that notices of others are not read.
        in_campaign = RaterTable.campaign_id == campaign_id
        conditions.append(ItemTable.id.in_(select_illegal_reports(AssignmentTable.item_id).where(in_campaign)))
    elif item_filter.flag == "skipped":
        conditions.append(_select_skipped(AssignmentTable.id).where(AssignmentTable.item_id == ItemTable.id).exists())
    return conditions


def _has_gold(label: str) -> ColumnElement[bool]:
    """Return the condition that an item has a gold label of its file, or settled by experts."""
    progress = GoldProgressTable
    # Item by item, since the first ones of a list suffice; a join would sort all with the label.
    settled = select(progress.item_id).where(progress.item_id == ItemTable.id, progress.safety == label)
    return or_(ItemTable.safety_gold == label, settled.exists())


def _is_written(tx: Connection, text: str) -> list[ColumnElement[bool]]:
    """Return the condition of SQLite that an item has a text somewhere, so that items without it are not parsed."""
    if tx.dialect.name != "sqlite":
        return []
    return [type_coerce(ItemTable.content, String).contains(json.dumps(text)[1:-1], autoescape=True)]


def _select_skipped(*columns: Any) -> Select[Any]:
    return (
        select(*columns)
        .select_from(AssignmentTable)
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .where(AssignmentTable.state == "skipped", ~RaterTable.rehearsal)
    )


def _count_flags(tx: Connection, item_ids: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the number of skips and of reports by item."""
    listed, columns = AssignmentTable.item_id.in_(item_ids), (AssignmentTable.item_id, func.count())
    queries = (
        query.where(listed).group_by(AssignmentTable.item_id)
        for query in (_select_skipped(*columns), select_illegal_reports(*columns))
    )
    skipped, reported = (tx.execute(query).all() for query in queries)
    return dict(skipped), dict(reported)


def _to_listed_item(row: Any, skipped: Mapping[str, int], reports: Mapping[str, int]) -> ListedItem:
    return ListedItem(
        position=row.position,
        name=row.name,
        text=row.text or "",
        withheld=row.withheld,
        counts=tuple(row.counts or ()),
        disagreement=row.disagreement,
        distance=getattr(row, "distance", None),
        n_skipped=skipped.get(row.id, 0),
        n_reports=reports.get(row.id, 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemReport:
    """A report of an item, open or settled."""

    id: str
    text: str
    at: datetime
    settled_at: datetime | None
    settled_by: str | None  # Name of the member of staff who decided
    shown_again: bool | None  # Decision: shown to raters, or withheld from everybody


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDetail:
    """An item with its skips, reports and finished assignments."""

    position: int  # Zero-based
    item: Item
    withheld: bool
    n_skipped: int
    reports: tuple[ItemReport, ...]  # Earliest first
    assignment_ids: tuple[str, ...]  # Finished ones


def find_item_detail(tx: Connection, campaign_id: str, position: int) -> ItemDetail | None:
    """Return the item at a position of a campaign, or None."""
    at_position = (ItemTable.campaign_id == campaign_id) & (ItemTable.position == position)
    row = tx.execute(select(ItemTable).where(at_position)).one_or_none()
    if row is None:
        return None
    owned = AssignmentTable.item_id == row.id
    done = owned & IS_FIRST & (AssignmentTable.state == "done")
    finished = select(AssignmentTable.id).where(done).order_by(AssignmentTable.id)
    columns = (NoticeTable.id, NoticeTable.text, NoticeTable.at, NoticeTable.settled_at, NoticeTable.shown_again)
    query = select_illegal_reports(*columns, StaffTable.name.label("settled_by")).where(owned).order_by(NoticeTable.id)
    settled = StaffTable.id == NoticeTable.settled_by
    return ItemDetail(
        position=position,
        item=to_item(row.name, row.content),
        withheld=row.withheld,
        n_skipped=tx.scalar(_select_skipped(func.count()).where(owned)) or 0,
        reports=list_rows(tx, query.outerjoin(StaffTable, settled), ItemReport),
        assignment_ids=tuple(tx.scalars(finished)),
    )


def list_attribute_names(tx: Connection, campaign_id: str) -> tuple[str, ...]:
    """Return the names of the attributes of the first `N_ATTRIBUTE_SAMPLE` items of a campaign."""
    query = select(ItemTable.content["attributes"]).where(ItemTable.campaign_id == campaign_id)
    attributes = tx.scalars(query.order_by(ItemTable.position).limit(N_ATTRIBUTE_SAMPLE))
    return tuple(dict.fromkeys(name for names in attributes for name in names))
