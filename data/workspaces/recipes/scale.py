"""Makes a recipe for four into one for any number of people."""

import re
import sys
from dataclasses import dataclass
from fractions import Fraction

SERVES = 4
LINE = re.compile(r"(?P<amount>\d+(?:/\d+)?) ?(?P<unit>g|ml|spoons?)? (?P<name>.+)")


@dataclass(frozen=True)
class Ingredient:
    """So much of something; ``unit`` is empty for things that are counted."""

    amount: Fraction
    unit: str
    name: str

    def __str__(self):
        amount = round(float(self.amount), 1)
        return " ".join(filter(None, [f"{amount:g}", self.unit, self.name]))


def read_recipe(path):
    """The ingredients of a recipe: the lines before the first empty one."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n\n")[0].splitlines()
    return [ingredient(line) for line in lines]


def ingredient(line):
    """An ingredient from a line such as "300 g lentils" or "1/2 onion"."""
    match = LINE.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"not an ingredient: {line!r}")
    unit = (match["unit"] or "").removesuffix("s")
    return Ingredient(Fraction(match["amount"]), unit, match["name"])


def scaled(ingredients, people):
    """The same ingredients for so many people."""
    return [Ingredient(i.amount * people / SERVES, i.unit, i.name) for i in ingredients]


if __name__ == "__main__":
    for each in scaled(read_recipe(sys.argv[1]), int(sys.argv[2])):
        print(each)
