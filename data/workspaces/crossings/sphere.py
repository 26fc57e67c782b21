"""Distances on a sphere."""

from math import acos, cos, radians, sin

RADIUS_M = 6_371_000


def distance(a, b):
    """Metres between two positions, each a latitude and a longitude in degrees."""
    (lat_a, lon_a), (lat_b, lon_b) = (map(radians, place) for place in (a, b))
    angle = sin(lat_a) * sin(lat_b) + cos(lat_a) * cos(lat_b) * cos(lon_a - lon_b)
    return round(RADIUS_M * acos(min(1, angle)), 1)
