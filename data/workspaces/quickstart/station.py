"""Adds up what the roof station measured."""

import csv

GAUGE_LIMIT_MM = 40.0


def read_days(path="data.csv"):
    """One dict a day, as in the file."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def total_rain(days):
    """Millimetres of rain, summed."""
    # TODO: a day at the gauge's limit is a lower bound; say so in the report
    return sum(float(day["rain_mm"]) for day in days)


def coldest(days):
    """The day with the lowest minimum."""
    return min(days, key=lambda day: float(day["min_c"]))["day"]


if __name__ == "__main__":
    days = read_days()
    print(f"{len(days)} days, {total_rain(days):.1f} mm of rain, coldest on {coldest(days)}")
