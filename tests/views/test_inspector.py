import json
import re

import pytest

from agentlab.views.inspector import InspectorPicture, inspector_html, inspector_text
from agentlab.views.page import LONGEST, page
from agentlab.views.wire_blocks import gist, pretty

TOOLS = [{"name": "Read", "description": "Read a file.", "input_schema": {"type": "object"}}]
TEXT = """\
What went over the wire? (simulated model)
request 1: 1 message, 100 tokens
  + user       text        How many words?
reply 1:
  < assistant  thinking    Both at once.
  < assistant  tool_use    [1] Read {"file_path": "a.txt"}
  < assistant  tool_use    [2] Read {"file_path": "b.txt"}
request 2: 3 messages, 2 new, 200 tokens
  = 1 message as before
  + assistant  the reply above, sent back as it came
  + user       tool_result [1] result 0
  + user       tool_result [2] is_error no such file
reply 2:
  < assistant  text        42 words.
Rebuilt from the events, which do not hold max_tokens, thinking settings, headers or cache_control.\
"""


@pytest.fixture
def run(stream):
    built = stream().start("How many words?", system="Be brief.", tools=TOOLS)
    reads = [("Read", {"file_path": name}) for name in ("a.txt", "b.txt")]
    built.turn_of("Both at once.", calls=reads, together=True, failing={1})
    return built.turn_of(text="42 words.").end()


def shown(html):
    """The JSON that can be unfolded, in order."""
    body = html.split("</style>")[1]
    unescape = {"&quot;": '"', "&lt;": "<", "&gt;": ">", "&#x27;": "'", "&amp;": "&"}
    found = re.findall(r"<pre>(.*?)</pre>", body, re.DOTALL)
    return [json.loads(re.sub("|".join(unescape), lambda m: unescape[m[0]], j)) for j in found]


def test_the_text_form(run):
    assert inspector_text(run.events).replace("\u202f", " ") == TEXT


def test_the_text_form_of_a_long_run_is_short_and_narrow(stream):
    built = stream().start("Find " + "everything " * 40)
    for _ in range(40):
        built.turn_of("Hm. " * 60, calls=[("Read", {"file_path": "x" * 300})] * 12)
    lines = inspector_text(built.end().events).split("\n")
    assert len(lines) < 200 and max(map(len, lines)) <= 100
    assert sum("… 33 more requests …" in line for line in lines) == 1
    assert any("more blocks …" in line for line in lines)


def test_each_block_unfolds_into_its_json(run):
    blocks = shown(inspector_html(run.events))
    reads = next(e for e in run.events if e.type == "assistant.message").message["content"]
    assert blocks[:3] == [
        {"system": "Be brief."}, TOOLS[0], {"type": "text", "text": "How many words?"},
    ]  # fmt: skip
    assert blocks[3:6] == reads
    assert blocks[7] == {
        "type": "tool_result", "tool_use_id": reads[2]["id"],
        "content": "no such file", "is_error": True,
    }  # fmt: skip


def test_a_call_and_its_result_share_a_number_and_a_colour(run):
    html = inspector_html(run.events).split("</style>")[1]
    tags = re.findall(
        r'data-pair="(\d)".*?agentlab-pair" style="[^"]*background-color:(#\w+)', html
    )
    assert [number for number, _ in tags] == ["1", "2", "1", "2"]
    assert tags[0] == tags[2] and tags[1] == tags[3] and tags[0][1] != tags[1][1]


def test_new_messages_are_marked_and_others_are_one_line(run):
    first, _, second, _ = inspector_html(run.events).split("<tbody>")[1].split("</tr>")[:4]
    assert first.count(">new<") == 1 and "as before" not in first
    assert second.count(">new<") == 1 and "1 message as before" in second
    assert "the reply above, sent back as it came" in second


def test_a_request_button_holds_the_whole_request(run):
    html = page(InspectorPicture(run.events), interactive=True)
    records = json.loads(re.search(r"const events = (\{.*?\});function", html, re.DOTALL).group(1))
    whole = re.findall(r'data-whole="([\d:]+)" data-e="([\d,]+)"', html)
    assert [left_out for left_out, _ in whole] == ["1:0:0", "3:0:0"]
    prompt, *messages = (records[number] for number in whole[1][1].split(","))
    assert prompt["system"] == "Be brief." and prompt["tools"] == TOOLS
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


@pytest.mark.parametrize("turns", [3, 24, 25, 26, 60])
def test_a_long_request_is_shown_with_its_two_ends(stream, turns):
    built = stream().start()
    for _ in range(turns):
        built.turn_of(calls=[("LS", {})])
    picture = InspectorPicture(built.end().events)
    last = picture.wire.requests[-1]
    numbers, left_out = picture._whole(last)
    place, count, missing = map(int, left_out.split(":"))
    every = [*last.before[: last.sent], *last.new]
    assert len(numbers) - 1 + count == len(every) == 2 * turns - 1 and missing == 0
    assert list(numbers[1:]) == every[:place] + every[place + count :]


def test_stored_outputs_have_numbers_in_the_place_of_ids(run):
    html = inspector_html(run.events, exact=False)
    assert "toolu_" in inspector_html(run.events)
    for output in (html, inspector_text(run.events)):
        assert not re.search(r"toolu_|msg_|&quot;sig&quot;|data-e", output)
    assert "call 2" in html and "Ids are replaced by numbers here" in html


def test_long_strings_are_cut_and_say_by_how_much(stream):
    html = inspector_html(stream().start("x" * (LONGEST + 7)).turn_of(text="y").end().events)
    assert "x… (7 more characters)" in html and "x" * (LONGEST + 1) not in html


def test_many_messages_and_blocks_are_cut_too(stream):
    history = [
        {"role": role, "content": [{"type": "text", "text": f"no {index}"}] * 60}
        for index in range(300)
        for role in ("user", "assistant")
    ]
    html = inspector_html(stream().start(history=history).turn_of(text="y").end().events)
    assert "… 551 more messages …" in html and "… 10 more blocks …" in html
    assert len(html) < 1_000_000


@pytest.mark.parametrize("where", ["task", "text", "name", "input", "model", "system", "result"])
def test_hostile_text_is_shown_and_not_run(stream, where):
    bad = "</pre></style><script>alert(1)</script>\"'><img src=x onerror=y>\x1b[31m\u202e"
    said = {where: bad}
    built = stream().start(
        said.get("task", "x"), model=said.get("model", "m"), system=said.get("system", "")
    )
    built.turn_of(calls=[(said.get("name", "Read"), {"path": said.get("input", "a")})])
    for event in built.events:
        if event.type == "tool.execution_complete" and where == "result":
            event.data["content"] = bad
    built.turn_of(text=said.get("text", "hello")).end()
    for events in (built.events, built.stored):
        html = inspector_html(events)
        assert not re.search("<script|<img|\x1b|\u202e", html)
        assert html.count("<pre>") == html.count("</pre>")
        if where != "model":
            assert "&lt;script&gt;" in html
        live = page(InspectorPicture(events), interactive=True)
        assert live.count("<script") == live.count("</script") == 1


def test_what_cannot_be_seen_is_written_as_an_escape():
    assert json.loads(pretty({"a": "\u202eevil\x9b\u200b"})) == {"a": "\u202eevil\x9b\u200b"}
    assert "\\u202eevil\\u009b\\u200b" in pretty("\u202eevil\x9b\u200b")


def test_a_reply_that_never_came_says_so(stream):
    built = stream().start().open(retries=1)
    waiting = inspector_html(built.events)
    built.add("session.error", status="error", error="Overloaded.", hint="")
    over = inspector_html(built.end("error").events)
    assert "waiting …" in waiting and "no reply came. Overloaded." in over
    assert "sent 2 times" in over


def test_side_calls_are_mentioned(stream):
    built = stream().start().turn_of(text="x")
    built.add("model.side_call", purpose="summary", model="m", usage={}, cost_usd=0.0)
    assert "1 side call not shown" in inspector_text(built.end().events)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "text", "text": "a\n b"}, "a b"),
        ({"type": "thinking", "thinking": "", "signature": "s"}, ""),
        ({"type": "tool_use", "name": "LS", "input": {"path": "."}}, 'LS {"path": "."}'),
        ({"type": "tool_result", "content": [{"type": "image"}]}, '[{"type": "image"}]'),
        ({"type": "image", "source": 3}, '{"type": "image", "source": 3}'),
    ],
)
def test_a_block_in_one_line(block, words):
    assert gist(block) == words
