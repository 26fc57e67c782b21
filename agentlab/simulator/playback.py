"""Playing a scenario against a history: where does it stand, and what does it say next?

The server keeps no session. For every request the history is read again: walk back from the last
message, and the nearest of two things decides which scenario plays. An assistant message with a
mark (`agentlab.simulator.marks`) says the scenario and the step it was written in; a user's text
that opens a scenario starts that one. A summary may hold a line that says where it stands. Then
the scenario's generator is run from its start: for steps that the history has, it is given what
came back for them; for steps that are gone, `Lost` results. Where the history ends, the turn that
the generator yields is the reply.

So follow-ups, repeated tasks, forks, sub-agents, cleared and compacted histories all resume at the
right step, and a request costs time in proportion to the steps played so far.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, replace
from typing import Any

from agentlab.models import find_model
from agentlab.simulator import marks
from agentlab.simulator.conversation import Conversation, Place, Round
from agentlab.simulator.improviser import understands
from agentlab.simulator.marks import Mark
from agentlab.simulator.offered import Offered
from agentlab.simulator.prefix import Chain
from agentlab.simulator.roles import play_of
from agentlab.simulator.scenario import IMPROVISER, Chat, ScenarioError
from agentlab.simulator.turns import CLEARED, Block, Lost, Result, Say

_GO_ON = re.compile(
    r"\s*(?:please )?(?:go on|continue|carry on|keep going|your reply was cut"
    r"|continua|vai avanti|prosegui)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Played:
    """One reply of the simulated model, as wire blocks; the server makes a message of it."""

    content: list[Block]
    stop_reason: str
    stop_sequence: str | None = None
    stop_details: Block | None = None
    scenario: str = ""
    step: int = 0
    note: str = ""


def play(
    request: dict[str, Any], chain: Chain, *, scenario: str | None = None, now: float = 0.0
) -> Played:
    """The reply to a request.

    Args:
        request: the request body.
        chain: its hashes; the reply's marks carry ``chain.whole``.
        scenario: plays this one, whatever the messages say (a side call has a role of its own).
        now: seconds on the simulator's clock, for scenarios that ask.

    Raises ScenarioError, which names scenario and step, if a scenario fails or is not known.
    """
    talk = Conversation(request)
    offered = Offered(request)
    place = play_of(talk) or talk.locate(scenario)
    stage = _Stage(place, talk, request, offered, now)
    say, note = stage.next_turn(), ""
    if say is None and _is_for_the_improviser(talk, stage.ended):
        note = f"{stage.ended}, improvised"
        stage = _Stage(talk.improvised(), talk, request, offered, now)
        say = stage.next_turn()
    if say is None:
        note = stage.ended
        say = Say().say(stage.chat.pick(*_LAST_WORDS[note]))
    return stage.perform(say, chain, note)


def _is_for_the_improviser(talk: Conversation, ended: str) -> bool:
    """Whether something is asked that a scenario which said its last word does not answer."""
    if ended == "lost":
        return any(understands(text) for text in talk.last.texts)
    return bool(talk.last.texts or (talk.last.mark and talk.last.mark.scenario == IMPROVISER))


def standing(messages: list[Block], *, scenario: str | None = None) -> str:
    """Where a history stands, as the line that a summary of it needs to be resumed from.

    ``scenario``: the one that is played by name.
    """
    place = Conversation({"messages": messages}).locate(scenario)
    step = place.step + len(place.rest)
    return marks.standing_line(Mark(place.scenario.name, step, place.decisions))


_LAST_WORDS = {
    "ended": ("Done.", "Fatto."),
    "interrupted": ("I have put that aside.", "L'ho messo da parte."),
    "lost": (
        "I have lost my place: parts of this conversation that I would need are gone. "
        "Please tell me again what you would like me to do.",
        "Ho perso il filo: mancano parti di questa conversazione che mi servirebbero. "
        "Dimmi di nuovo che cosa vuoi che faccia.",
    ),
}


class _Stage:
    """One run of a scenario's generator against the history of one request."""

    def __init__(
        self,
        place: Place,
        talk: Conversation,
        request: dict[str, Any],
        offered: Offered,
        now: float,
    ) -> None:
        self.place, self.talk, self.offered, self.request = place, talk, offered, request
        self.chat = Chat(
            request, offered, place.task, before=place.before, recorded=place.decisions, now=now
        )
        self.thinking = _thinking(request)
        self.generator = place.scenario.function(self.chat)
        self.step = 0
        self.ended = ""  # why there is no next turn: ended, interrupted, lost

    def next_turn(self) -> Say | None:
        """Run up to the end of the history. None if the scenario has nothing more to say."""
        place, rest, answer = self.place, list(self.place.rest), None
        while True:
            self.step += 1
            say = self._advance(answer)
            if say is None:
                self.ended = "ended" if self.step > place.step else "lost"
                return None
            rounds = place.rounds.get(self.step, [])
            if self.step > place.step or (self.step == place.step and rounds):
                left = self._left(say, rounds) if rounds else say
                while left and rest:
                    rounds = [*rounds, rest.pop(0)]
                    left = self._left(say, rounds)
                if self._interrupted(say, rounds):
                    self.ended = "interrupted"
                    return None
                if left:
                    return left
            answer = self._answer(say, rounds)

    def _advance(self, answer: Any) -> Say | None:
        try:
            say: Any = self.generator.send(answer)
        except StopIteration:
            return None
        except Exception as error:
            raise ScenarioError(self.place.scenario.name, self.step, _where(error)) from error
        if not isinstance(say, Say):
            problem = (
                f"yielded {type(say).__name__}; yield chat.say(...), chat.call(...) or the like"
            )
            raise ScenarioError(self.place.scenario.name, self.step, problem)
        return say

    def _left(self, say: Say, rounds: list[Round]) -> Say | None:
        """What of a turn the history does not have yet: calls not made, or text that was cut."""
        last = rounds[-1]
        if say.calls:
            made = len({_number(c, order) for r in rounds for order, c in enumerate(r.calls)})
            if not made:
                return say
            if self.offered.parallel or made >= len(say.calls):
                return None
            return Say(calls=say.calls[made:], first_call=made)
        said = "".join(r.text for r in rounds)
        cut = said and said != say.text and say.text.startswith(said)
        if cut and (not last.answer or any(map(_GO_ON.match, last.texts))):
            return replace(say, thinking=[], texts=[say.text[len(said) :]])
        return None

    def _interrupted(self, say: Say, rounds: list[Round]) -> bool:
        """Whether the user asked for something else while calls were under way."""
        asked = say.calls and not self.place.forced
        return bool(asked) and any(understands(text) for r in rounds for text in r.texts)

    def _answer(self, say: Say, rounds: list[Round]) -> list[Result] | str:
        made: dict[int, tuple[Block, Block | None]] = {}
        for here in rounds:
            for order, call in enumerate(here.calls):
                made[_number(call, order)] = call, here.results.get(str(call.get("id")))
        if not say.calls and not made:
            return "\n".join(rounds[-1].notes) if rounds else ""
        results: list[Result] = []
        for number in range(max(len(say.calls), *(k + 1 for k in made), 0)):
            if number in made:
                results.append(_result(*made[number]))
                continue
            names, arguments = say.calls[number] if number < len(say.calls) else (("",), {})
            results.append(Lost(names[0], arguments, ""))
        return results

    def perform(self, say: Say, chain: Chain, note: str = "") -> Played:
        """The turn as wire blocks, with marks."""
        name = self.place.scenario.name
        mark = Mark(name, self.step, self.chat.decisions, chain.whole)
        thoughts = say.thinking if self.thinking != "disabled" else []
        if self.thinking == "enabled" and say.calls and not thoughts:
            thoughts = ["One step at a time."]  # in manual mode a call needs a thought before it
        content: list[Block] = [
            {"type": "thinking", "thinking": text, "signature": marks.encode_signature(mark, text)}
            for text in thoughts
        ]
        missing = [names[0] for names, _ in say.calls if not self.offered.find(*names)]
        if missing:
            text = "\n\n".join(filter(None, [say.text, self._not_offered(missing)]))
            content.append({"type": "text", "text": text})
            note = "tool not offered"
            return Played(content, "end_turn", scenario=name, step=self.step, note=note)
        content += self._texts(say, mark) + self._calls(say, mark)
        reason = say.reason or ("tool_use" if say.calls else "end_turn")
        return Played(content, reason, say.sequence, say.details, name, self.step, note)

    def _calls(self, say: Say, mark: Mark) -> list[Block]:
        blocks: list[Block] = []
        for number, (names, given) in enumerate(say.calls, say.first_call):
            tool = self.offered.find(*names) or names[0]
            arguments = self.offered.arguments(tool, given)
            id = marks.encode_tool_id(mark, number)
            blocks.append({"type": "tool_use", "id": id, "name": tool, "input": arguments})
        return blocks if self.offered.parallel else blocks[:1]

    def _texts(self, say: Say, mark: Mark) -> list[Block]:
        """Texts, and server tools with their results; a result belongs to the call before it."""
        blocks: list[Block] = []
        for part in say.texts:
            if isinstance(part, str):
                blocks.append({"type": "text", "text": part})
            elif part["type"] == "server_tool_use":
                id = marks.encode_server_tool_id(mark, len(blocks))
                blocks.append({"type": part["type"], "id": id, **part})
            else:
                said = [block for here in self.talk.rounds for block in here.said or ()]
                ids = [b["id"] for b in said + blocks if b.get("type") == "server_tool_use"]
                if ids:
                    blocks.append({"type": part["type"], "tool_use_id": ids[-1], **part})
        return blocks

    def _not_offered(self, missing: list[str]) -> str:
        tools = ", ".join(dict.fromkeys(missing))
        return self.chat.pick(
            f"For the next step I would need {tools}, and this request does not offer it. "
            f"(Tools offered: {self.offered}.) A model can only ask for tools that it is offered.",
            f"Per il prossimo passo mi servirebbe {tools}, ma questa richiesta non lo offre. "
            f"(Strumenti offerti: {self.offered}.) Un modello può chiedere solo quelli.",
        )


def _thinking(request: dict[str, Any]) -> str:
    """The kind of thinking that a request asks for, or its model's default."""
    asked = (request.get("thinking") or {}).get("type")
    model = find_model(str(request.get("model")))
    return asked or (model.default_thinking if model else "adaptive")


def _number(call: Block, order: int) -> int:
    """Which call of its turn it is, counted from 0: as its id says, else by its place."""
    mark = marks.decode(str(call.get("id")))
    return mark.call if mark else order


def _result(call: Block, result: Block | None) -> Result:
    name, arguments = str(call.get("name")), call.get("input")
    arguments = arguments if isinstance(arguments, dict) else {}
    if result is None:
        return Lost(name, arguments, "")
    content = result.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(
            str(b.get("text", "")) for b in content if isinstance(b, dict) and b.get("text")
        )
    if CLEARED.fullmatch(content.strip()):
        return Lost(name, arguments, "")
    return Result(name, arguments, content, bool(result.get("is_error")))


def _where(error: Exception) -> str:
    """The error in one line, with the file and line it was raised at, without its folder."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    file = last.filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{type(error).__name__}: {error} ({file}, line {last.lineno})"
