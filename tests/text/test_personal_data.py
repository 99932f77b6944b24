"""Personal data by pattern: matches, non-matches, and hostile texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.growth import grows_linearly

from dissensus.text.personal_data import KINDS, Kind, Span, find_personal_data


def find(text: str) -> list[tuple[Kind, str]]:
    return [(span.kind, text[span.start : span.end]) for span in find_personal_data(text)]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("email_address", "ann.b+list@mail.example.co.uk"),
        ("email_address", "jürgen@bücher.example"),
        ("email_address", "ann＠example.org"),
        ("url_with_user", "https://ann:secret@example.org"),
        ("url_with_user", "ftp://ann@192.0.2.1"),
        ("iban", "GB82 WEST 1234 5698 7654 32"),
        ("iban", "DE89370400440532013000"),
        ("iban", "fr1420041010050500013m02606"),
        ("iban", "MT84MALT011000012345MTLCAST001S"),
        ("card_number", "4111 1111 1111 1111"),
        ("card_number", "5500-0000-0000-0004"),
        ("card_number", "378282246310005"),
        ("card_number", "3782 822463 10005"),
        ("card_number", "٤١١١١١١١١١١١١١١١"),
        ("social_security_number", "219-09-9999"),
        ("social_security_number", "219 09 9999"),
        ("social_security_number", "219–09–9999"),
        ("ip_address", "8.8.8.8"),
        ("ip_address", "2001:4860:4860::8888"),
        ("telephone_number", "+49 30 901820"),
        ("telephone_number", "+44 (0)20 7946 0958"),
        ("telephone_number", "0049 30 901820"),
        ("telephone_number", "+12 345 678"),  # 8 digits
        ("telephone_number", "+123456789012345"),  # 15 digits
        ("telephone_number", "(212) 555-0123"),
        ("telephone_number", "212.555.0123"),
        ("telephone_number", "1-212-555-0123"),
        ("telephone_number", "030 1234567"),
        ("telephone_number", "0171/1234567"),
        ("telephone_number", "030 123456"),  # 9 digits
        ("telephone_number", "030 123456789"),  # 12 digits
        ("telephone_number", "06 12 34 56 78"),
        ("telephone_number", "+９１ ９８７６５ ４３２１０"),
        ("street_address", "221B Baker Street"),
        ("street_address", "1600 Pennsylvania Ave"),
        ("street_address", "350 N 5th Avenue"),
        ("street_address", "Hauptstraße 5"),
        ("street_address", "Berliner Str. 12a"),
        ("handle", "@ann_example"),
    ],
)
@pytest.mark.parametrize("around", ["{}", "It is {}.", "({})", "Ja: {}, ok?", "\n{}\n"])
def test_personal_data_is_found(kind: Kind, data: str, around: str) -> None:
    assert find(around.format(data)) == [(kind, data)]


@pytest.mark.parametrize(
    "text",
    [
        *("", "Is it safe?", "Ann Example, born on 3 March 1980, lives next door."),
        *("ann@localhost", "@", "a @ b", "a@b@c", "mail me at ann (at) example (dot) org"),
        *("DE89370400440532013001", "XX82370400440532013000", "DE8937040044053201300"),  # digits, country, length
        *("4111 1111 1111 1112", "1111111111111117", "2.299738407135009", "4111 1111 1111"),
        *("000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "219-099999"),
        *("192.168.0.1", "127.0.0.1", "256.1.1.1", "1.2.3", "1.2.3.4.5", "12:30:45", "fe80::1", "std::move", "::1"),
        *("1-800-273-8255", "(800) 273-8255", "+1 888 273 8255", "988", "911", "555-0123"),
        *("+1 234 567", "+1234567890123456", "030 12345", "030 1234567890"),  # 7, 16, 8 and 13 digits
        *("2020-01-31 12:30", "01/02/2020 1234", "1939-1945", "100 000 000", "3.14159265358979", "$1,000,000"),
        *("5 Star hotel", "a street", "10 Drive", "on Main Street", "the 2nd Way", "Straße", "12 Straße"),
        *("a@b", "@x", "user@@name", "ann@", "f(@) @2nd"),
    ],
)
def test_other_data_is_not_found(text: str) -> None:
    assert find(text) == []


def test_all_in_one_text() -> None:
    text = "Ann (@ann1), 12 Elm Road, ann@example.org or 212-555-0123; card 4111111111111111, https://a:b@c.example/x"
    assert find(text) == [
        ("handle", "@ann1"),
        ("street_address", "12 Elm Road"),
        ("email_address", "ann@example.org"),
        ("telephone_number", "212-555-0123"),
        ("card_number", "4111111111111111"),
        ("url_with_user", "https://a:b@c.example"),
    ]


def test_an_invalid_match_does_not_hide_an_overlapping_valid_one() -> None:
    assert find("2024 4111 1111 1111 1111 123") == [("card_number", "4111 1111 1111 1111")]
    assert find("1.1.1.300 8.8.8.8") == [("ip_address", "8.8.8.8")]


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("0123456789@.:+-/ ()DE"), max_size=80))
@quick
def test_spans_are_in_order_without_overlaps(text: str) -> None:
    spans = find_personal_data(text)
    positions = [place for span in spans for place in (span.start, span.end)]
    assert positions == sorted(positions)
    assert all(0 <= span.start < span.end <= len(text) and span.kind in KINDS for span in spans)


@given(st.text("0123456789", min_size=15, max_size=15))
@quick
def test_one_check_digit_in_ten_is_valid(number: str) -> None:
    cards = [digit for digit in "0123456789" if find(f"no. 4{number[1:]}{digit}")]
    assert len(cards) == 1


@given(st.text("0123456789", min_size=18, max_size=18))
@quick
def test_one_pair_of_check_digits_is_valid(account: str) -> None:
    expected = 98 - int(account + "131400") % 97  # ISO 13616: country DE as digits, then 00
    ibans = [
        check for check in range(2, 99) if find(f"DE{check:02}{account}")[:1] == [("iban", f"DE{check:02}{account}")]
    ]
    assert ibans == [expected]


HOSTILE = ("a", "1", "1 ", "a.", "a@a.", "+1", "0-1", "1:", "1 Aa ", "a://x@", "4111 ", "DE12 ", "A-")


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_texts_take_linear_time(piece: str) -> None:
    """A pattern that looked at characters more than a bounded number of times would take a minute."""

    def find_last(length: int) -> None:
        text = piece * (length // len(piece))
        assert find(f"{text} 1@: ann@example.org")[-1] == ("email_address", "ann@example.org")

    assert grows_linearly(find_last, 2**13)


def test_kinds_do_not_depend_on_distant_text() -> None:
    text = "call +49 30 901820 now"
    (span,) = find_personal_data(text)
    assert find_personal_data("x" * 1000 + " " + text) == (Span(span.start + 1001, span.end + 1001, span.kind),)
