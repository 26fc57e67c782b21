import re

from agentlab.views.meter import meter_html, meter_text

TEXT = """\
What did it cost? (simulated model: list prices, nothing was spent)
                   in   cached      out      cost    so far
turn 1            100        0       40   $0.0006   $0.0006
turn 2            620        0       40   $0.0019   $0.0025
turn 3            650      620       40   $0.0005   $0.0031
total           1 370      620      120   $0.0031
$0.0039 without cache (22 % less with it)
0.6 % of the budget of $0.50 spent"""
THIN = "\u202f"


def test_the_text_form(demo):
    assert meter_text(demo.events).replace(THIN, " ") == TEXT


def test_the_text_form_of_a_long_run_is_short(stream):
    run = stream().start()
    for _ in range(40):
        run.turn_of(text="x")
    lines = meter_text(run.end().events).split("\n")
    assert len(lines) == 15 and "… 29 more calls …" in lines[10]


def test_the_page_says_the_numbers_without_styles(demo):
    page = re.sub(r"<style>.*?</style>", "", meter_html(demo.events))
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)).replace(THIN, " ")
    assert "Turns Tokens in Tokens out Cost Without cache Budget 3 1 370 120 $0.0031" in words
    assert "$0.0031 $0.0039 0.6 % of $0.50" in words
    assert "20 input ; 600 cache write ; 10 thinking ; 30 output" in words


def test_what_is_estimated_says_so_and_looks_unfinished(stream):
    events = stream().start().turn_of(text="a").open().events
    assert "agentlab-is-running" in meter_html(events).split("</style>")[1]
    assert meter_text(events).split("\n")[3].split() == ["turn", "2", "~200", "~0", "~0"]
    assert "agentlab-is-running" not in meter_html(events[:-1]).split("</style>")[1]


def test_a_real_model_is_not_called_simulated(stream):
    run = stream().start(simulated=False).turn_of(text="x").end()
    assert "simulated" not in meter_text(run.events) + meter_html(run.events).split("</style>")[1]


def test_hostile_text_is_shown_and_not_run(stream):
    bad = "<script>alert(1)</script>"
    run = stream().start().turn_of(text="x").end().start(bad)
    run.add("model.side_call", purpose=bad, model="m", usage={}, cost_usd=0.0)
    page = meter_html(run.end().events)
    assert "<script" not in page and page.count("&lt;script&gt;") >= 2
