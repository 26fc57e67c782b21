import itertools

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agentlab.views.flow import Flow

TEXT = st.text("ab \n\t字", max_size=120)


def flow(pieces, width=20, indent="  "):
    out = []
    stream = Flow(out.append, width, indent)
    for piece in pieces:
        stream.feed(piece)
    stream.end()
    return "".join(out)


@given(text=TEXT, cuts=st.lists(st.integers(0, 120), max_size=6))
def test_how_a_text_is_cut_into_pieces_makes_no_difference(text, cuts):
    text = text.replace("\t", " ")
    edges = [0, *sorted(cut for cut in cuts if cut <= len(text)), len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(edges)]
    assert flow(pieces) == flow([text])


@given(text=TEXT)
def test_no_line_is_too_wide_and_no_word_is_lost(text):
    lines = flow([text]).split("\n")
    assert all(cell_len(line.rstrip()) <= 20 for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_words_are_not_broken():
    assert flow(["The quick bro", "wn fox jumps"]) == "  The quick brown\n  fox jumps\n"
