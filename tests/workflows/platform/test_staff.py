"""Staff accounts: the default owner, and their e-mail addresses."""

import pytest
from tests.support.campaigns import NOW

from dissensus.errors import InvalidInput
from dissensus.workflows.platform import sign_in_links, staff
from dissensus.workflows.platform.platform import Platform


def test_without_a_name_the_only_owner_is_used(platform: Platform) -> None:
    default_owner = staff.find_or_create_owner(platform, None, now=NOW)
    assert default_owner.name == "owner"
    assert (
        staff.find_or_create_owner(platform, None, now=NOW)
        == staff.find_or_create_owner(platform, "owner", now=NOW)
        == default_owner
    )
    with pytest.raises(InvalidInput, match=r"no person called 'ada'; there are 'owner'. Create one: dissensus sign-in"):
        staff.find_or_create_owner(platform, "ada", now=NOW)
    sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    with pytest.raises(InvalidInput, match=r"There are several people: 'ada', 'owner'. Name one"):
        staff.find_or_create_owner(platform, None, now=NOW)
    assert staff.find_or_create_owner(platform, "ada", now=NOW).name == "ada"


def test_invalid_addresses_are_rejected(platform: Platform) -> None:
    sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    for address in ("ada", "@example.org", "ada@", "a\nb@example.org", f"{'x' * 260}@example.org"):
        with pytest.raises(InvalidInput, match="is not an e-mail address"):
            staff.set_email(platform, "ada", address, now=NOW)
