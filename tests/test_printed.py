"""The comparison of shown and printed output fails where it must, and only there."""

import pytest

from tests.printed import ANEW, LIVE, STORED, alike, assert_printed

PRINTED = " j1   6.02 ± 0.08   identified\n j2   9.15   weak   8 %\n"


def test_lines_may_be_left_out_and_blanks_do_not_count() -> None:
    assert_printed(" j2 9.15 weak 8 %", PRINTED)
    assert_printed(" j1 6.02 ± 0.08 identified\n j2 9.15 weak 8 %", PRINTED)


@pytest.mark.parametrize(
    "wrong",
    [
        " j1 6.02 ± 0.08 weak",
        " j3 9.15 weak 8 %",
        " j2 9.15 weak 9 %",
        " j2 9.15 weak",
        " j2 9.15 weak 8 %\n j1 6.02 ± 0.08 identified",
    ],
)
def test_words_integers_and_order_are_compared(wrong: str) -> None:
    with pytest.raises(AssertionError, match="not printed"):
        assert_printed(wrong, PRINTED)


@pytest.mark.parametrize(
    ("shown", "printed", "part", "same"),
    [
        ("6.020 ± 0.080", "6.050 ± 0.080", ANEW, True),
        ("6.020 ± 0.080", "6.063 ± 0.080", ANEW, False),  # beyond half of it and last digits
        ("6.020 ± 0.080", "6.020 ± 0.050", ANEW, True),
        ("6.020 ± 0.080", "6.020 ± 0.123", ANEW, False),
        ("1.628 ± 0.018", "1.622 ± 0.011", ANEW, False),  # each within half of it, an end not
        ("-0.0632 ± 0.006", "0.0632 ± 0.006", ANEW, False),
        ("184 ± 16", "190 ± 16", ANEW, True),
        ("184 ± 16", "200 ± 16", ANEW, False),
        ("0.002 ± 2e-05", "0.002 ± 3e-05", ANEW, True),
        ("6.020 ± 0.080", "6.021 ± 0.080", STORED, True),
        ("6.020 ± 0.080", "6.023 ± 0.080", STORED, False),
    ],
)
def test_ends_of_intervals_agree_within_a_part_of_the_half_width(
    shown: str, printed: str, part: float, same: bool
) -> None:
    assert alike(f"j1 {shown} N·m", f"j1 {printed} N·m", part) == same


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("error 0.024", "error 0.025", True),
        ("error 0.024", "error 0.026", False),
        ("error 2.6 %", "error 2.7 %", True),
        ("error 1.7", "error 1.71", True),
        ("[-2.0 1.1]", "[2.0 1.1]", False),
        ("1 N", "2 N", False),
        ("version 0.1.0", "version 0.2.0", False),
        ("lab6.5 m", "lab6.6 m", False),
        ("mass 5e-12 kg", "mass 6e-12 kg", True),
    ],
)
def test_decimals_agree_within_their_last_digit(shown: str, printed: str, same: bool) -> None:
    assert alike(shown, printed, STORED) == alike(shown, printed, ANEW) == same


def test_of_a_real_clock_only_words_and_integers_are_compared() -> None:
    assert alike("200 Hz (measured 200.0 Hz)", "200 Hz (measured 187.3 Hz)", LIVE)
    assert not alike("200 Hz (measured 200.0 Hz)", "250 Hz (measured 200.0 Hz)", LIVE)
