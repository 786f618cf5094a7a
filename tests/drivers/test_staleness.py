"""The age at which a joint's reply is stale."""

import pytest

from stribeck.drivers.staleness import stale_age


@pytest.mark.parametrize(
    ("rate", "age"), [(1000.0, 0.05), (250.0, 0.05), (200.0, 0.05), (100.0, 0.1), (20.0, 0.5)]
)
def test_ten_periods_or_fifty_milliseconds_whichever_is_longer(rate, age):
    assert stale_age(rate) == pytest.approx(age, rel=1e-12)
