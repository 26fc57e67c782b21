"""The log: counting, marks, and its bounds."""

import pytest

from agentlab.simulator.log import BODIES, BODY_BYTES, Entry, Log


def entry(status=200):
    return lambda number: Entry(number, 0.0, "POST", "/v1/messages", status)


def test_since_gives_what_came_after_the_mark():
    log = Log()
    log.add(entry())
    mark = log.mark()
    log.add(entry(529))
    log.add(entry())
    assert [e.status for e in log.since(mark)] == [529, 200]
    assert log.last.number == 3
    assert log.count(by="status") == {200: 2, 529: 1}
    assert log.count(by="status", since=mark) == {200: 1, 529: 1}
    assert repr(log) == "<3 requests: 2 with 200, 1 with 529>"


def test_it_is_bounded_but_goes_on_counting():
    log = Log(entries=10)
    for _ in range(100):
        log.add(entry(), b'{"a": 1}')
    assert len(log) == 100
    assert [e.number for e in log] == list(range(91, 101))
    assert log.since(0) == list(log)


def test_the_last_bodies_can_be_read():
    log = Log()
    for number in range(BODIES + 1):
        log.add(entry(), b'{"n": %d}' % number)
    assert log.body(BODIES + 1) == {"n": BODIES}
    assert log.body(1) is None
    log.add(entry(), b'"' + b"x" * BODY_BYTES + b'"')
    assert log.body(log.last.number) is None
    log.add(entry(), b"no json")
    assert log.body(log.last.number) is None


def test_an_empty_log_has_no_last_entry():
    with pytest.raises(IndexError):
        _ = Log().last
    assert repr(Log()) == "<no requests>"
