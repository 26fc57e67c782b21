"""The self-check of chapter 00: async generators."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs

from __future__ import annotations

from types import SimpleNamespace

from agentlab.course.exercises import Case, broken, exercise


async def _stream(*types):
    for type in types:
        yield SimpleNamespace(type=type)


async def _types(only, types, kind):
    return [event.type async for event in only(_stream(*types), kind)]


def _case(says, types, kind, expected):
    return Case(
        says,
        expected=expected,
        run=lambda only: _types(only, types, kind),
        shows=f"only(a stream of {', '.join(types) or 'nothing'}; {kind!r})",
    )


@exercise(
    "00.1",
    "An async generator",
    cases=[
        _case("one of three", ("turn", "tool", "turn"), "tool", ["tool"]),
        _case("two of three, in order", ("turn", "tool", "turn"), "turn", ["turn", "turn"]),
        _case("none of them", ("turn", "turn"), "tool", []),
        _case("an empty stream", (), "tool", []),
    ],
    hints=[
        "events is a stream, so take its values with 'async for event in events:'.",
        "Hand a value over with yield. There is nothing to return and no list to build.",
    ],
)
async def only(events, kind):
    """Yield those of the async stream `events` whose .type is `kind`."""
    async for event in events:
        if event.type == kind:
            yield event


@broken("00.1", "stops at the first")
async def only_first(events, kind):
    async for event in events:
        if event.type == kind:
            yield event
            return


@broken("00.1", "yields everything")
async def only_all(events, kind):
    async for event in events:
        yield event


@broken("00.1", "builds a list instead of yielding")
async def only_list(events, kind):
    return [event async for event in events if event.type == kind]
