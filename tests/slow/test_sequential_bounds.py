"""Error probabilities of the bounds by which simulations end early."""

from tests.support.sequential_bounds import MISSES, RARE_MISSES, REJECTIONS, pass_probability


def test_too_many_errors_pass_no_more_often_than_with_one_look() -> None:
    """Looks are compared with a share of .06 of 200, or of .07 of 120 and of 300, and three standard errors."""
    for share in (0.1, 0.12, 0.15, 0.2):
        assert pass_probability(REJECTIONS, share) <= pass_probability({200: 21}, share) + 0.001
    for share in (0.15, 0.2, 0.25):
        assert pass_probability(MISSES, share) <= pass_probability({120: 16}, share) + 0.001
        assert pass_probability(RARE_MISSES, share) <= pass_probability({300: 34}, share) + 0.001


def test_stated_errors_pass() -> None:
    assert pass_probability(REJECTIONS, 0.05) > 0.998
    assert pass_probability(REJECTIONS, 0.06) > 0.99
    assert pass_probability(MISSES, 0.07) > 0.99
    assert pass_probability(RARE_MISSES, 0.07) > 0.99
