"""Reading and scaling recipes."""

import unittest
from fractions import Fraction

from scale import Ingredient, ingredient, read_recipe, scaled


class Recipes(unittest.TestCase):
    def test_a_line_is_amount_unit_and_name(self):
        self.assertEqual(ingredient("300 g lentils"), Ingredient(Fraction(300), "g", "lentils"))
        self.assertEqual(ingredient("1/2 onion"), Ingredient(Fraction(1, 2), "", "onion"))
        self.assertEqual(ingredient("2 spoons oil").unit, "spoon")

    def test_only_the_lines_before_the_empty_one_are_ingredients(self):
        self.assertEqual(len(read_recipe("dishes/flat-bread.txt")), 4)

    def test_ten_people_need_two_and_a_half_times_as_much(self):
        [soup] = scaled([ingredient("300 g lentils")], 10)
        self.assertEqual(str(soup), "750 g lentils")


if __name__ == "__main__":
    unittest.main()
