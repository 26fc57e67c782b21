"""Distances as if the earth were flat. Deprecated: see sphere.py."""

from math import hypot

KM_PER_DEGREE = 111.2


def distance(a, b):
    """Kilometres between two positions, if a degree were equally long everywhere."""
    return KM_PER_DEGREE * hypot(a[0] - b[0], a[1] - b[1])
