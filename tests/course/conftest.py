"""A notebook for the tests of the course's helpers."""

import itertools
import linecache

import pytest


class FakeNotebook:
    """Runs texts as cells of one notebook, each compiled under a name that linecache knows."""

    _numbers = itertools.count(1)

    def __init__(self):
        self.names = {"__name__": "__main__", "get_ipython": lambda: None, "In": [""]}
        self.stores_history = True
        self.files = []

    def run(self, text):
        name = f"<ipython-input-{next(self._numbers)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        self.files.append(name)
        if self.stores_history:
            self.names["In"].append(text)
        exec(compile(text, name, "exec", dont_inherit=True), self.names)
        return self

    def __getitem__(self, name):
        return self.names[name]


@pytest.fixture
def notebook():
    made = FakeNotebook()
    yield made
    for name in made.files:
        linecache.cache.pop(name, None)
