"""Working copies of the definitions of new campaigns."""

from functools import partial

import pytest
from tests.support.campaigns import NOW, owner

from dissensus.errors import Conflict, NotFound
from dissensus.workflows.campaign.working_copies import (
    CopyAddress,
    begin_working_copy,
    discard_working_copy,
    list_working_copies,
    load_working_copy,
)
from dissensus.workflows.platform.platform import Platform


def test_a_person_may_have_begun_fifty_campaigns(platform: Platform) -> None:
    ada, eve = (owner(platform.database, name) for name in ("ada", "eve"))
    begin = partial(begin_working_copy, platform, 'name = "new"', now=NOW)
    first, *_ = (CopyAddress(copy_id=begin(staff_id=ada)) for _ in range(50))
    with pytest.raises(Conflict, match="You have begun 50 campaigns that do not exist yet"):
        begin(staff_id=ada)
    begin(staff_id=eve)
    revision = load_working_copy(platform, first, staff_id=ada).revision
    with pytest.raises(NotFound, match="belongs to somebody else"):
        discard_working_copy(platform, first, revision=revision, staff_id=eve)
    discard_working_copy(platform, first, revision=revision, staff_id=ada)
    begin(staff_id=ada)
    assert [len(list_working_copies(platform, staff_id=person)) for person in (ada, eve)] == [50, 1]
