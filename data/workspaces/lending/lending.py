"""Who has which book, and what it costs to bring it back late."""

import csv
from datetime import date, timedelta

DAYS = 21
CENTS_A_DAY = 10
MOST_CENTS = 300


def due(lent):
    """The day by which a book must be back."""
    return lent + timedelta(days=DAYS)


def fine(lent, returned):
    """Cents to pay for a book that was lent and returned on these days."""
    late = (returned - lent).days - DAYS + 1
    return max(0, late) * CENTS_A_DAY if late < 30 else MOST_CENTS


def read_loans(path="loans.csv"):
    """One dict a loan; "returned" is None for a book that is still out."""
    with open(path, newline="", encoding="utf-8") as file:
        loans = list(csv.DictReader(file))
    for loan in loans:
        loan["lent"] = date.fromisoformat(loan["lent"])
        loan["returned"] = date.fromisoformat(loan["returned"]) if loan["returned"] else None
    return loans


if __name__ == "__main__":
    for loan in read_loans():
        if loan["returned"]:
            cents = fine(loan["lent"], loan["returned"])
            print(f"{loan['who']:10} {loan['book']:24} {cents / 100:5.2f}")
        else:
            print(f"{loan['who']:10} {loan['book']:24} due {due(loan['lent'])}")
