"""What trip.py has to do."""

import pytest
from trip import length_km


def test_one_degree_to_the_north():
    assert length_km([(50, 10), (51, 10)]) == pytest.approx(111.2, abs=0.1)


def test_one_degree_to_the_east_in_the_far_north():
    assert length_km([(70, 20), (70, 21)]) == pytest.approx(38.0, abs=0.1)


def test_a_trip_without_a_crossing():
    assert length_km([(50, 10)]) == 0
