"""Whatever experts do in whatever order, what is kept follows the rules that a list of a few lines follows."""

from collections import defaultdict
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run
from tests.strategies import quick
from tests.support.campaigns import NOW, items
from tests.support.gold_campaigns import said, staffed

from dissensus.errors import Conflict, NotAllowed
from dissensus.workflows.gold import adjudication, queue
from dissensus.workflows.platform.platform import Platform

N_ITEMS = 1_000
POSITIONS = count()
"""Each run has an item of its own."""
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
        self.said: dict[str, dict[int, str]] = defaultdict(dict)
        self.decided: list[dict[str, str]] = []

    @property
    def open(self) -> list[str]:
        return [part for part, n in NEEDED.items() if len(self.said[part]) < n]

    @rule(expert=EXPERTS, label=LABELS)
    def labels(self, expert: int, label: dict[str, str]) -> None:
        task = queue.load_gold_task(self.platform, "pilot", self.position, staff_id=self.experts[expert])
        answers: dict[str, Any] = {**label, "reasons": ["Other"], "motivation": "So.", "topics": ["Legal"]}
        if not self.open:
            # The same label once more is no second one.
            same = all(self.said[part].get(expert) == {**label, "topics": "Legal"}[part] for part in NEEDED)
            if not same:
                with pytest.raises(Conflict):
                    said(self.platform, self.experts[expert], answers, self.position, seen=task.seen)
            return
        said(self.platform, self.experts[expert], answers, self.position, seen=task.seen)
        for part in self.open:
            self.said[part][expert] = {**label, "topics": "Legal"}[part]

    @rule(expert=EXPERTS, decision=LABELS)
    def decides(self, expert: int, decision: dict[str, str]) -> None:
        who = self.experts[expert]
        task = queue.load_gold_task(self.platform, "pilot", self.position, staff_id=who)
        differing = {part for part in NEEDED if len({*self.said[part].values()}) > 1}
        labelled = any(expert in theirs for theirs in self.said.values())
        wanted = {part: decision[part] for part in differing}
        answers: dict[str, Any] = {**wanted, "why": f"{len(self.decided)} {expert}"}
        if "safety" in wanted and wanted["safety"] != "No":
            answers["reasons"] = ["Other"]
        try:
            adjudication.decide_gold(
                self.platform, "pilot", self.position, answers, seen=task.seen, staff_id=who, now=NOW
            )
        except Conflict:
            assert self.open or not differing or self.holding(differing) == wanted
        except NotAllowed:
            assert labelled
        else:
            assert not self.open
            assert not labelled
            self.decided.append(wanted)

    def holding(self, differing: set[str]) -> dict[str, str] | None:
        return {part: self.decided[-1][part] for part in differing} if self.decided else None

    @invariant()
    def what_is_kept_is_what_the_rules_say(self) -> None:
        first = queue.load_gold_task(self.platform, "pilot", self.position, staff_id=self.owner).labelled
        for part, standing in first.standings.items():
            kept = {self.experts.index(one.staff_id): one.answers[part] for one in standing.labels}
            expected = {who: ("Legal",) if part == "topics" else one for who, one in self.said[part].items()}
            assert kept == expected
            assert [one.position for one in standing.labels] == list(range(len(standing.labels)))
            assert len(standing.labels) <= NEEDED[part]
            if standing.state == "decided":
                assert standing.settled is not None
                assert standing.settled[part] == self.decided[-1][part]
        assert (first.state in ("disputed", "settled")) == (not self.open)


@pytest.mark.parametrize(
    "tried",
    [
        pytest.param(settings(quick, max_examples=15, stateful_step_count=14), id="quick"),
        pytest.param(settings(quick, stateful_step_count=14), id="long", marks=pytest.mark.slow),
    ],
)
def test_labels_follow_the_rules_in_any_order(platform: Platform, tried: settings) -> None:
    owner, experts = staffed(platform, 5, rated=items(N_ITEMS))

    class OnThisPlatform(Labelling):
        def __init__(self) -> None:
            super().__init__(platform, owner, experts)

    run(OnThisPlatform, settings=tried)
