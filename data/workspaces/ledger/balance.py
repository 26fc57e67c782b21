"""What the books say is left, and what the bank says."""

import csv
from decimal import Decimal
from pathlib import Path

START = Decimal("212.60")
MONTHS = ("september", "october", "november")


def rows(path):
    """The rows of a file, as dicts."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_the_books(folder="books"):
    """What should be there after all entries of the months."""
    entries = [row for month in MONTHS for row in rows(Path(folder, f"{month}.csv"))]
    return START + sum(Decimal(entry["euros"]) for entry in entries)


def by_the_bank(path="bank.csv"):
    """The last balance on the statement."""
    return Decimal(rows(path)[-1]["balance"])


if __name__ == "__main__":
    books, bank = by_the_books(), by_the_bank()
    print(f"books {books}, bank {bank}, difference {books - bank}")
