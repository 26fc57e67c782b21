import pytest

from agentlab.views.ledger import BUCKETS as BUCKET_NAMES
from agentlab.views.page import style_sheet
from agentlab.views.palette import BUCKETS, KINDS, PAIRS, Paint
from agentlab.views.requests import KINDS as WINDOW
from agentlab.views.rows import BARS


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("paint", [*KINDS.values(), *BUCKETS.values(), *PAIRS])
def test_words_on_a_bar_can_be_read(paint: Paint):
    light, dark = sorted((luminance(paint.fill), luminance(paint.ink)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_kinds_do_not_share_a_colour():
    fills = [paint.fill for paint in (*KINDS.values(), *BUCKETS.values(), *PAIRS)]
    assert len(set(fills)) == len(fills)


def test_a_bucket_is_darker_the_dearer_its_tokens_are():
    shades = [luminance(BUCKETS[name].fill) for name in BUCKET_NAMES]
    assert shades == sorted(shades, reverse=True)


@pytest.mark.parametrize(
    "name", [*BARS, *WINDOW, *(f"use_{name}" for name in BUCKETS), "user", "system"]
)
def test_the_style_sheet_colours_every_kind_of_bar(name):
    assert f".agentlab-live .agentlab-{name.replace('_', '-')}" in style_sheet() or name == "wait"
    assert f"var(--agentlab-{name.replace('_', '-')})" in style_sheet()
