"""What the shelf's rules say."""

import unittest
from datetime import date

from lending import due, fine

LENT = date(2026, 9, 1)


class Rules(unittest.TestCase):
    def test_a_book_is_due_after_three_weeks(self):
        self.assertEqual(due(LENT), date(2026, 9, 22))

    def test_a_book_that_is_early_costs_nothing(self):
        self.assertEqual(fine(LENT, date(2026, 9, 10)), 0)

    def test_a_book_that_is_back_on_its_day_costs_nothing(self):
        self.assertEqual(fine(LENT, due(LENT)), 0)

    def test_no_book_ever_costs_more_than_three_euros(self):
        self.assertEqual(fine(LENT, date(2027, 9, 1)), 300)


if __name__ == "__main__":
    unittest.main()
