"""What was read: by bytes, in a bounded space, and true only as long as the context holds it."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.file_cache import FileCache

A, B, C = Path("/w/a"), Path("/w/b"), Path("/w/c")
ALL = (1, None, 1)


def read(cache, path, data, part=ALL, span=None):
    cache.read(path, data, part, span or (0, len(data)), len(data))


@pytest.fixture
def cache():
    return FileCache()


def test_a_file_is_unread_whole_or_changed(cache):
    assert cache.state(A, b"one") == "unread"
    read(cache, A, b"one")
    assert cache.state(A, b"one") == "whole"
    assert cache.state(A, b"two") == "changed"  # as long: only the bytes tell
    assert cache.state(A, b"one") == "whole"  # as before: nothing is lost by having looked


def test_parts_add_up_to_the_whole(cache):
    for part, span in enumerate([(0, 4), (8, 10), (3, 6)]):
        read(cache, A, b"0123456789", part, span)
        assert cache.state(A, b"0123456789") == "partial"
    read(cache, A, b"0123456789", 3, (6, 8))
    assert cache.state(A, b"0123456789") == "whole"


def test_parts_of_different_versions_do_not_add_up(cache):
    read(cache, A, b"0123456789", 1, (0, 5))
    read(cache, A, b"012345678!", 2, (5, 10))
    assert cache.state(A, b"012345678!") == "partial"
    assert cache.state(A, b"0123456789") == "changed"


def test_an_empty_file_is_read_whole(cache):
    read(cache, A, b"")
    assert cache.state(A, b"") == "whole"


def test_only_the_part_that_was_asked_for_is_in_the_context(cache):
    read(cache, A, b"one")
    assert cache.shows(A, b"one", ALL)
    assert not cache.shows(A, b"one", (2, None, 1))
    assert not cache.shows(A, b"two", ALL)
    assert not cache.shows(B, b"one", ALL)


def test_own_changes_are_known_but_not_shown(cache):
    read(cache, A, b"one")
    cache.edited(A, b"two")
    assert cache.state(A, b"two") == "whole" and not cache.shows(A, b"two", ALL)
    cache.wrote(B, b"new")
    assert cache.state(B, b"new") == "whole" and not cache.shows(B, b"new", ALL)
    read(cache, C, b"0123", 1, (0, 2))
    cache.edited(C, b"0!23")
    assert cache.state(C, b"0!23") == "partial"


def test_after_a_compaction_no_text_is_in_the_context_any_more(cache):
    read(cache, A, b"one")
    cache.wrote(B, b"two")
    cache.forget_contents()
    assert not cache.shows(A, b"one", ALL)
    assert [cache.state(A, b"one"), cache.state(B, b"two")] == ["partial", "partial"]
    assert cache.state(A, b"other") == "changed"
    read(cache, A, b"one")
    assert cache.shows(A, b"one", ALL) and cache.state(A, b"one") == "whole"


def test_a_file_or_everything_is_forgotten(cache):
    read(cache, A, b"one")
    read(cache, B, b"two")
    cache.forget(A)
    cache.forget(C)
    assert A not in cache and B in cache and repr(cache) == "FileCache(1 files, 3 bytes)"
    cache.forget()
    assert repr(cache) == "FileCache(0 files, 0 bytes)"


def test_the_least_recently_used_file_falls_out():
    cache = FileCache(files=2)
    read(cache, A, b"a")
    read(cache, B, b"b")
    assert cache.shows(A, b"a", ALL)  # A was used last
    read(cache, C, b"c")
    assert (A in cache, B in cache, C in cache) == (True, False, True)
    assert cache.state(B, b"b") == "unread"


def test_bytes_are_bounded_too_but_the_newest_file_stays():
    cache = FileCache(size=10)
    read(cache, A, b"a" * 6)
    read(cache, B, b"b" * 4)
    assert len(cache) == 2
    read(cache, B, b"b" * 5)  # larger than before
    assert A not in cache
    read(cache, C, b"c" * 50)
    assert C in cache and len(cache) == 1


def test_the_bounds_are_a_hundred_files_and_25_mb(cache):
    assert (cache.files, cache.size) == (100, 25_000_000)
    for number in range(101):
        read(cache, A / str(number), b"x")
    assert len(cache) == 100 and A / "0" not in cache


def test_a_clone_knows_the_same_and_goes_its_own_way(cache):
    read(cache, A, b"one")
    child = cache.clone()
    assert child.shows(A, b"one", ALL) and child.state(A, b"one") == "whole"
    child.edited(A, b"two")
    read(child, B, b"b")
    assert cache.shows(A, b"one", ALL) and B not in cache
    cache.forget()
    assert child.state(A, b"two") == "whole" and len(child) == 2
    fresh = child.clone()
    fresh.forget_contents()
    assert fresh.state(B, b"b") == "partial" and child.shows(B, b"b", ALL)


@pytest.mark.parametrize("workers", [8])
def test_reads_at_the_same_time_keep_count(workers):
    cache, data = FileCache(files=5), os.urandom(100)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda n: read(cache, A / str(n % 9), data[: n % 50]), range(2_000)))
    assert len(cache) == 5
    assert f"{sum(len(h.data) for h in cache._held.values())} bytes" in repr(cache)


@given(st.data())
def test_it_never_says_whole_or_shown_of_what_it_was_not_told(data):
    """Against the plainest model there is: for each file the bytes, and the bytes seen of them."""
    cache, model = FileCache(files=3, size=40), {}
    for _ in range(data.draw(st.integers(0, 25))):
        path = data.draw(st.sampled_from([A, B, C, A / "d"]))
        content = data.draw(st.sampled_from([b"", b"0123456789", b"012345678!", b"x" * 30]))
        match data.draw(st.sampled_from(["read", "wrote", "edited", "forget", "compact"])):
            case "read":
                start = data.draw(st.integers(0, len(content)))
                span = (start, data.draw(st.integers(start, len(content))))
                cache.read(path, content, span, span, len(content))
                old, seen, parts = model.get(path, (None, set(), set()))
                if old != content:
                    seen, parts = set(), set()
                model[path] = content, seen | set(range(*span)), parts | {span}
            case "wrote":
                cache.wrote(path, content)
                model[path] = content, set(range(len(content))), set()
            case "edited":
                old, seen, _ = model.get(path, (b"?", set(), set()))
                whole = len(seen) == len(old)
                cache.edited(path, content)
                model[path] = content, set(range(len(content))) if whole else set(), set()
            case "forget":
                cache.forget(path)
                model.pop(path, None)
            case "compact":
                cache.forget_contents()
                model = {p: (c, set(), set()) for p, (c, _, _) in model.items()}
        assert len(cache) <= 3
        for known, (content, seen, parts) in model.items():
            if known not in cache:
                continue
            if cache.state(known, content) == "whole":
                assert seen == set(range(len(content)))
            for part in [(0, 0), (0, len(content)), *parts]:
                assert not cache.shows(known, content, part) or part in parts


def test_what_a_turn_reads_is_in_the_context_from_the_next_turn_on(cache):
    cache.asked()
    read(cache, A, b"one")
    assert not cache.shows(A, b"one", ALL) and cache.state(A, b"one") == "whole"
    child = cache.clone()
    for one in (cache, child):
        one.asked()
        assert one.shows(A, b"one", ALL)
        read(one, A, b"one")  # once more, because it was asked to
        assert one.shows(A, b"one", ALL)
    assert not cache.shows(A, b"two", ALL)


def test_a_span_that_was_shown_is_known_however_it_is_asked_for(cache):
    read(cache, A, b"0123456789", ALL, (0, 10))
    assert cache.shows(A, b"0123456789", (0, 10))
    assert not cache.shows(A, b"0123456789", (0, 5))


def test_a_text_that_another_conversation_read_is_sent_again(cache):
    cache.used_by("one")
    read(cache, A, b"text")
    cache.left_by("one")
    cache.used_by("one")
    assert cache.shows(A, b"text", ALL)
    child = cache.clone()
    child.used_by("child")
    assert child.shows(A, b"text", ALL)
    cache.left_by("one")
    cache.used_by("other")
    assert not cache.shows(A, b"text", ALL) and cache.state(A, b"text") == "partial"


def test_while_several_conversations_read_no_text_counts_as_being_in_one(cache):
    cache.used_by("parent")
    read(cache, A, b"text")
    cache.used_by("child")
    read(cache, A, b"text")
    assert not cache.shows(A, b"text", ALL) and cache.state(A, b"text") == "whole"
    cache.left_by("child")
    read(cache, A, b"text")
    assert not cache.shows(A, b"text", ALL)
    cache.left_by("parent")
    cache.used_by("parent")
    read(cache, A, b"text")
    assert cache.shows(A, b"text", ALL)


def test_what_is_read_when_its_conversation_has_stopped_is_in_no_context(cache):
    cache.used_by("one")
    cache.left_by("one")
    read(cache, A, b"text")  # in a thread that a cancelled run has left behind
    assert not cache.shows(A, b"text", ALL)


def test_what_a_turn_reads_has_not_been_seen_in_that_turn(cache):
    cache.used_by("one")
    cache.asked()
    cache.asked()
    read(cache, A, b"one")
    cache.edited(A, b"two")
    assert cache.state(A, b"two") == "partial"
    cache.wrote(B, b"new")
    assert cache.state(B, b"new") == "whole"
    cache.asked()
    read(cache, A, b"two")
    assert cache.state(A, b"two") == "whole"
