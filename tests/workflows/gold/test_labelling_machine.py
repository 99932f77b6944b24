"""In any order of actions, stored labels equal those of a simple model."""

from collections import defaultdict
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run
from sqlalchemy import select
from tests.strategies import quick
from tests.support.campaigns import NOW, items
from tests.support.gold_campaigns import create_gold_campaign, label_item

from dissensus.campaign.gold_labels import to_attributes
from dissensus.errors import Conflict, NotAllowed
from dissensus.store.gold import GoldProgressTable
from dissensus.workflows.gold import adjudication, queue
from dissensus.workflows.platform.platform import Platform

N_ITEMS = 1_000
POSITIONS = count()
"""Each run uses another item."""
EXPERTS = st.integers(0, 4)
NEEDED = {"safety": 3, "degree": 2, "topics": 2}
LABELS = st.fixed_dictionaries(
    {"safety": st.sampled_from(["No", "Unsure"]), "degree": st.sampled_from(["Benign", "Extreme"])}
)


class Labelling(RuleBasedStateMachine):
    """One item, five experts and an owner."""

    def __init__(self, platform: Platform, owner: str, experts: list[str]) -> None:
        super().__init__()
        self.platform, self.owner, self.experts = platform, owner, experts
        self.position = next(POSITIONS) % N_ITEMS
        self.expected: dict[str, dict[int, str]] = defaultdict(dict)
        self.decided: list[dict[str, str]] = []

    @property
    def open(self) -> list[str]:
        return [part for part, n in NEEDED.items() if len(self.expected[part]) < n]

    @rule(expert=EXPERTS, label=LABELS)
    def add_label(self, expert: int, label: dict[str, str]) -> None:
        task = queue.load_gold_task(self.platform, "pilot", self.position, staff_id=self.experts[expert])
        answers: dict[str, Any] = {**label, "reasons": ["Other"], "motivation": "So.", "topics": ["Legal"]}
        if not self.open:
            # A repeated label is accepted without effect.
            same = all(self.expected[part].get(expert) == {**label, "topics": "Legal"}[part] for part in NEEDED)
            if not same:
                with pytest.raises(Conflict):
                    label_item(self.platform, self.experts[expert], answers, self.position, revision=task.revision)
            return
        label_item(self.platform, self.experts[expert], answers, self.position, revision=task.revision)
        for part in self.open:
            self.expected[part][expert] = {**label, "topics": "Legal"}[part]

    @rule(expert=EXPERTS, decision=LABELS)
    def decide(self, expert: int, decision: dict[str, str]) -> None:
        staff_id = self.experts[expert]
        task = queue.load_gold_task(self.platform, "pilot", self.position, staff_id=staff_id)
        differing = {part for part in NEEDED if len({*self.expected[part].values()}) > 1}
        labelled = any(expert in labels_of_part for labels_of_part in self.expected.values())
        decisions = {part: decision[part] for part in differing}
        answers: dict[str, Any] = {**decisions, "reason": f"{len(self.decided)} {expert}"}
        if "safety" in decisions and decisions["safety"] != "No":
            answers["reasons"] = ["Other"]
        try:
            adjudication.decide_gold(
                self.platform, "pilot", self.position, answers, revision=task.revision, staff_id=staff_id, now=NOW
            )
        except Conflict:
            assert self.open or not differing or self.current_decision(differing) == decisions
        except NotAllowed:
            assert labelled
        else:
            assert not self.open
            assert not labelled
            self.decided.append(decisions)

    def current_decision(self, differing: set[str]) -> dict[str, str] | None:
        return {part: self.decided[-1][part] for part in differing} if self.decided else None

    @invariant()
    def stored_labels_equal_the_model(self) -> None:
        first = queue.load_gold_task(self.platform, "pilot", self.position, staff_id=self.owner).labelled
        for part, progress in first.progress.items():
            stored = {self.experts.index(one.staff_id): one.answers[part] for one in progress.labels}
            expected = {who: ("Legal",) if part == "topics" else one for who, one in self.expected[part].items()}
            assert stored == expected
            assert [one.position for one in progress.labels] == list(range(len(progress.labels)))
            assert len(progress.labels) <= NEEDED[part]
            if progress.state == "decided":
                assert progress.settled is not None
                assert progress.settled[part] == self.decided[-1][part]
        assert (first.state in ("disputed", "settled")) == (not self.open)
        with self.platform.database.reading() as tx:
            columns = (GoldProgressTable.state, GoldProgressTable.safety)
            rows = tx.execute(select(*columns).where(GoldProgressTable.item_id == first.target.id)).all()
        settled = to_attributes(first.progress).get("safety_gold")
        assert [*map(tuple, rows)] == ([(first.state, settled)] if any(self.expected.values()) else [])


SHORT = settings(quick, max_examples=15, stateful_step_count=14)
LONG = settings(quick, stateful_step_count=14)


@pytest.mark.parametrize(
    ("database_url", "tried"),
    [
        pytest.param("sqlite", SHORT, id="sqlite-quick"),
        pytest.param("sqlite", LONG, id="sqlite-long", marks=pytest.mark.slow),
        # The first examples of the long run again: only statements differ, and each occurs in many steps.
        pytest.param("postgresql", settings(LONG, max_examples=12), id="postgresql-long", marks=pytest.mark.slow),
    ],
    indirect=["database_url"],
)
def test_labels_follow_the_model_in_any_order(platform: Platform, tried: settings) -> None:
    owner, experts = create_gold_campaign(platform, 5, rated=items(N_ITEMS))

    class OnThisPlatform(Labelling):
        def __init__(self) -> None:
            super().__init__(platform, owner, experts)

    run(OnThisPlatform, settings=tried)
