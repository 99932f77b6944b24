"""Places of repeated items."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.campaign.assignment import FIRST, SECOND, place_repeats
from dissensus.schema.campaign.repeat import RepeatSettings

settings = st.builds(RepeatSettings, share=st.floats(0.01, 0.5), distance=st.integers(1, 12))


@quick
@given(settings, st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(0, 99), st.integers(0, 9))
def test_batches_show_each_item_once_or_twice_at_the_distance(
    repeat: RepeatSettings, batches: list[int], seed: int, rater: int
) -> None:
    order: list[tuple[int, int]] = []
    for n in range(len(batches)):
        seen = {number for number, showing in order if showing == SECOND}
        once = {number: at for at, (number, _) in enumerate(order) if number not in seen}
        items = range(sum(batches[:n]), sum(batches[: n + 1]))
        last = n == len(batches) - 1
        order += place_repeats(items, once, repeat, start=len(order), last=last, seed=seed, rater=rater)
    places = {showing: {number: at for at, (number, one) in enumerate(order) if one == showing} for showing in (1, 2)}
    assert Counter(order).most_common(1)[0][1] == 1
    assert sorted(places[FIRST]) == list(range(sum(batches)))
    for number, at in places[SECOND].items():
        assert at - places[FIRST][number] - 1 >= repeat.distance


def test_the_share_is_that_of_items_with_enough_others_after_them() -> None:
    repeat = RepeatSettings(share=0.1, distance=10)
    orders = [place_repeats(range(200), {}, repeat, start=0, last=True, seed=5, rater=rater) for rater in range(40)]
    shares = [sum(showing == SECOND for _, showing in order) / 200 for order in orders]
    # The standard error of the mean is .0034, and items near the end cannot be repeated.
    assert abs(sum(shares) / len(shares) - 0.095) < 0.015
    assert orders[0] != orders[1]
    assert orders[0] == place_repeats(range(200), {}, repeat, start=0, last=True, seed=5, rater=0)


def test_distances_are_uniform_from_the_least_to_twice_the_least() -> None:
    # So few repeats that two are hardly ever due at one place.
    repeat = RepeatSettings(share=0.02, distance=3)
    distances = Counter[int]()
    for rater in range(2000):
        order = place_repeats(range(40), {}, repeat, start=0, last=False, seed=5, rater=rater)
        places = {entry: at for at, entry in enumerate(order)}
        seconds = {number: at for (number, showing), at in places.items() if showing == SECOND}
        distances.update(at - places[number, FIRST] - 1 for number, at in seconds.items())
    assert set(distances) == {3, 4, 5, 6}
    # Four standard deviations.
    assert all(abs(n - distances.total() / 4) < 4 * (distances.total() * 3 / 16) ** 0.5 for n in distances.values())
