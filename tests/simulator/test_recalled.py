"""A note that a file is unchanged: the simulated model looks at the text that it points to."""

import pytest

from agentlab import Agent
from agentlab.messages import assistant, text, tool_result, tool_use, user
from agentlab.simulator.conversation import Conversation
from agentlab.simulator.recalled import GONE
from agentlab.toolbox import toolbox
from agentlab.toolbox.files import UNCHANGED

NOTE = UNCHANGED.format(path="a.txt")


def seen(*rounds):
    """What the model sees for each (input, content)."""
    messages = [user("the task")]
    for n, (input, content) in enumerate(rounds):
        messages += [
            assistant(tool_use(f"t{n}", "Read", input)),
            user(tool_result(f"t{n}", content)),
        ]
    talk = Conversation({"messages": messages})
    return [r.results[f"t{n}"]["content"] for n, r in enumerate(talk.rounds[1:])]


@pytest.mark.parametrize("note", [NOTE, [text(NOTE)], "a.txt is unchanged since you read it."])
def test_a_note_is_read_as_the_text_it_points_to(note):
    whole = {"file_path": "a.txt"}
    assert seen((whole, "one two"), (whole, note), (whole, note)) == ["one two"] * 3


def test_it_is_the_last_text_of_the_same_part():
    a, b = {"file_path": "a.txt"}, {"file_path": "a.txt", "offset": 2}
    assert seen((a, "1\n2"), (b, "2"), (a, "one\n2"), (a, NOTE), (b, NOTE))[3:] == ["one\n2", "2"]
    assert seen((a, "1"), ({**a, "again": True}, "1"), (a, NOTE))[2] == "1"


def test_a_text_that_is_gone_is_gone():
    assert seen(({"file_path": "a.txt"}, NOTE)) == [GONE]


def test_a_file_that_only_speaks_of_such_notes_is_no_note():
    content = f"The note says:\n{NOTE}"
    assert seen(({"file_path": "a.txt"}, content)) == [content]


async def test_a_question_about_a_file_that_was_read_before_is_answered_from_it(tmp_path):
    (tmp_path / "a.txt").write_text("one two three\n")
    agent = Agent(tools=toolbox(tmp_path))
    for _ in range(3):
        result = await agent.ask("How many words are in a.txt?")
        assert result.text == "a.txt has 3 words."
    sent = [b for m in agent.history for b in m["content"] if b["type"] == "tool_result"]
    assert [("unchanged" in block["content"]) for block in sent] == [False, True, True]
