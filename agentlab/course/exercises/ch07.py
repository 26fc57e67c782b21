"""Exercises of chapter 07: hooks."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs, disable-error-code="var-annotated"

from __future__ import annotations

import json

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 07.1


@exercise(
    "07.1",
    "What many hooks say, as one",
    cases=[
        Case("no hook has an opinion", ([("", ""), ("", "")], True), ("", "")),
        Case("no hooks at all", ([], False), ("", "")),
        Case("one allows", ([("", ""), ("allow", "known")], True), ("allow", "known")),
        Case(
            "deny beats allow, whoever came first",
            ([("allow", "fine"), ("deny", "no")], True),
            ("deny", "no"),
        ),
        Case("ask beats allow", ([("ask", "sure?"), ("allow", "fine")], True), ("ask", "sure?")),
        Case("deny beats ask", ([("ask", "sure?"), ("deny", "no")], True), ("deny", "no")),
        Case(
            "a hook that failed is a question",
            ([("allow", "fine"), ("error", "exit code 1")], True),
            ("ask", "exit code 1"),
        ),
        Case(
            "a deny is a deny, whatever else failed",
            ([("error", "exit code 1"), ("deny", "no")], True),
            ("deny", "no"),
        ),
        Case(
            "the reasons of all that decided it, in order",
            ([("deny", "one"), ("allow", "two"), ("deny", "three")], True),
            ("deny", "one; three"),
        ),
        Case(
            "ask and error are the same question",
            ([("error", "timeout"), ("ask", "sure?")], True),
            ("ask", "timeout; sure?"),
        ),
        Case(
            "nobody can be asked: a question is a no",
            ([("ask", "sure?"), ("allow", "fine")], False),
            ("deny", "sure?"),
        ),
        Case(
            "nobody can be asked: a failure is a no",
            ([("error", "exit code 1")], False),
            ("deny", "exit code 1"),
        ),
        Case(
            "nobody can be asked, nobody needs to be", ([("allow", "ok")], False), ("allow", "ok")
        ),
        Case(
            "nobody can be asked: the reasons of the refusals alone",
            ([("ask", "sure?"), ("deny", "no")], False),
            ("deny", "no"),
        ),
    ],
    hints=[
        "Count an error as ask, then look for deny, ask and allow, in this order.",
        'Reasons: "; ".join(reason for decision, reason in results if it is the one that won).',
        "Turn ask into deny at the very end, or a refusal gets reasons that are none.",
    ],
)
def verdict(results, can_ask):
    """The decision of many hooks, and the reasons for it, joined by "; ".

    results: (decision, reason) of each; decision is "allow", "ask", "deny", "error" or
    "" for no opinion. Deny beats ask beats allow. An error is never consent: it counts
    as ask. can_ask: whether anybody can be asked; if not, what would be ask is deny.
    """
    counted = [("ask" if d == "error" else d, reason) for d, reason in results]
    for decision in ("deny", "ask", "allow"):
        reasons = [reason for d, reason in counted if d == decision]
        if reasons:
            refused = decision == "ask" and not can_ask
            return "deny" if refused else decision, "; ".join(reasons)
    return "", ""


@broken("07.1", "a hook that failed has no opinion")
def verdict_failing_open(results, can_ask):
    return verdict([(d, reason) for d, reason in results if d != "error"], can_ask)


@broken("07.1", "the first opinion counts")
def verdict_first(results, can_ask):
    return verdict([result for result in results if result[0]][:1], can_ask)


@broken("07.1", "the last opinion counts")
def verdict_last(results, can_ask):
    return verdict([result for result in results if result[0]][-1:], can_ask)


@broken("07.1", "an allow settles it")
def verdict_allowing(results, can_ask):
    allows = [result for result in results if result[0] == "allow"]
    return verdict(allows or results, can_ask)


@broken("07.1", "a question stays a question when nobody is there")
def verdict_waiting(results, can_ask):
    return verdict(results, True)


@broken("07.1", "all reasons, whatever they are for")
def verdict_all_reasons(results, can_ask):
    decision, _ = verdict(results, can_ask)
    return decision, "; ".join(reason for _, reason in results if reason)


@broken("07.1", "a failure is a refusal, also where somebody could be asked")
def verdict_strict(results, can_ask):
    return verdict([("deny" if d == "error" else d, r) for d, r in results], can_ask)


@broken("07.1", "questions and refusals are thrown together")
def verdict_early(results, can_ask):
    if not can_ask:
        results = [("deny" if d in ("ask", "error") else d, r) for d, r in results]
    return verdict(results, can_ask)


# ------------------------------------------------------------------------------------------ 07.2


def _said(**fields):
    return json.dumps(fields)


@exercise(
    "07.2",
    "What a command said",
    cases=[
        Case("it ends well and says nothing", (0, "", ""), ("", "")),
        Case("2 is a refusal", (2, "", "no pushes today\n"), ("deny", "no pushes today")),
        Case(
            "2 is a refusal, whatever was printed",
            (2, _said(decision="approve"), "no\n"),
            ("deny", "no"),
        ),
        Case("1 is an error", (1, "", "Traceback ..."), ("error", "exit code 1")),
        Case("it was killed", (-9, "", ""), ("error", "exit code -9")),
        Case(
            "an error, although a decision was printed",
            (1, _said(decision="approve"), ""),
            ("error", "exit code 1"),
        ),
        Case("block", (0, _said(decision="block", reason="r"), ""), ("deny", "r")),
        Case("approve", (0, _said(decision="approve"), "a warning"), ("allow", "")),
        Case(
            "the newer form",
            (0, _said(permissionDecision="ask", reason="sure?"), ""),
            ("ask", "sure?"),
        ),
        Case("no decision in it", (0, _said(reason="just saying"), ""), ("", "just saying")),
        Case("text", (0, "all is well\n", ""), ("", "")),
        Case("cut off", (0, '{"permissionDecision": "de', ""), ("error", "unreadable")),
        Case("cut off, after a blank line", (0, '\n{"decision": ', ""), ("error", "unreadable")),
        Case("a word that is none", (0, _said(decision="perhaps"), ""), ("error", "unreadable")),
    ],
    hints=[
        "The exit code first: 2 is deny with stderr as the reason, any other but 0 is an error.",
        'Output that does not begin with "{" is text; it decides nothing.',
        "A dict translates the words; a word that is not in it is unreadable, like broken JSON.",
    ],
)
def answer(code, out, err):
    """Decision and reason of a command that has ended.

    code: its exit code. 2: deny, with err as the reason. Anything else but 0: error,
    with the reason "exit code N". With 0, out is empty, text (which decides nothing),
    or a JSON object with "decision" (approve, block) or "permissionDecision" (allow,
    ask, deny) and perhaps a "reason". JSON that cannot be read, or another word:
    ("error", "unreadable").
    """
    if code == 2:
        return "deny", err.strip()
    if code != 0:
        return "error", f"exit code {code}"
    if not out.strip().startswith("{"):
        return "", ""
    words = {"": "", "approve": "allow", "block": "deny"}
    words |= {word: word for word in ("allow", "ask", "deny")}
    try:
        said = json.loads(out)
        word = said.get("permissionDecision") or said.get("decision") or ""
        return words[word], said.get("reason", "")
    except (ValueError, KeyError):
        return "error", "unreadable"


@broken("07.2", "any other code but 2 lets it pass")
def answer_failing_open(code, out, err):
    return answer(code if code == 2 else 0, out, err)


@broken("07.2", "what cannot be read is text")
def answer_forgiving(code, out, err):
    decision, reason = answer(code, out, err)
    return ("", "") if reason == "unreadable" else (decision, reason)


@broken("07.2", "what was printed comes before the exit code")
def answer_output_first(code, out, err):
    decision, reason = answer(0, out, err)
    return (decision, reason) if decision else answer(code, out, err)


@broken("07.2", "every code but 0 is a refusal")
def answer_all_refusals(code, out, err):
    return answer(2 if code else 0, out, err)


@broken("07.2", "a word that is not known is no opinion")
def answer_unknown_words(code, out, err):
    try:
        json.loads(out)
    except ValueError:
        return answer(code, out, err)
    decision, reason = answer(code, out, err)
    return ("", "") if reason == "unreadable" else (decision, reason)


@broken("07.2", "approve and block are taken as they are")
def answer_untranslated(code, out, err):
    words = {"allow": "approve", "deny": "block"}
    decision, reason = answer(code, out, err)
    return (words.get(decision, decision) if '"decision"' in out and not code else decision), reason


@broken("07.2", "the reason of a refusal is read from the wrong output")
def answer_wrong_output(code, out, err):
    return ("deny", out.strip()) if code == 2 else answer(code, out, err)


# ------------------------------------------------------------------------------------------ 07.3


def _imports(event):
    return "flat_earth" in event["text"]


def _tabs(event):
    return "\t" in event["text"]


def _either(event):
    return _imports(event) or _tabs(event)


def _never(event):
    return False


def _crashes(event):
    raise KeyError("file_path")


OLD = {"text": "import flat_earth"}
TABBED = {"text": "def f():\n\treturn 1"}
FINE = {"text": "import sphere"}


def _ratchet(says, hooks, failures, expected):
    names = {
        _imports: "finds flat_earth", _tabs: "finds a tab", _either: "finds either",
        _never: "finds nothing", _crashes: "raises KeyError",
    }  # fmt: skip
    shown = {name: names[hook] for name, hook in hooks.items()}
    return Case(says, (hooks, failures), expected, shows=f"hooks: {shown}\nfailures: {failures}")


@exercise(
    "07.3",
    "Which hooks are still needed",
    cases=[
        _ratchet("no hooks", {}, [OLD], {}),
        _ratchet("one that catches", {"import": _imports}, [OLD, FINE], {"import": "needed"}),
        _ratchet("one that does not", {"tabs": _tabs}, [OLD], {"tabs": "idle"}),
        _ratchet("no failures", {"import": _imports}, [], {"import": "idle"}),
        _ratchet(
            "each has its own",
            {"import": _imports, "tabs": _tabs, "old": _never},
            [OLD, TABBED],
            {"import": "needed", "tabs": "needed", "old": "idle"},
        ),
        _ratchet(
            "another one catches the same",
            {"import": _imports, "both": _either},
            [OLD, TABBED],
            {"import": "covered", "both": "needed"},
        ),
        _ratchet(
            "two that cover each other",
            {"a": _imports, "b": _imports},
            [OLD],
            {"a": "covered", "b": "covered"},
        ),
        _ratchet(
            "one that crashes catches nothing, and stops nobody",
            {"broken": _crashes, "import": _imports},
            [OLD],
            {"broken": "idle", "import": "needed"},
        ),
    ],
    hints=[
        "First find out which hooks catch each failure: a set of names for each of them.",
        "Needed: some failure is caught by this hook alone. Idle: its name is in no set.",
        "A try around the call of the hook: one that raises has caught nothing.",
    ],
)
def still_needed(hooks, failures):
    """For each hook, by name: "needed", "covered" or "idle".

    hooks: name -> a function of the event, which says whether it objects. failures:
    the events of old failures. With one hook off, would a failure slip through that is
    caught now? Then it is "needed". If not: "covered" if it catches something, as
    others do, and "idle" if it catches nothing. A hook that raises has caught nothing.
    """

    def catches(hook, event):
        try:
            return bool(hook(event))
        except Exception:
            return False

    caught = [{n for n in hooks if catches(hooks[n], event)} for event in failures]
    found = dict.fromkeys(hooks, "idle")
    for names in caught:
        found |= dict.fromkeys(names, "covered")
    return found | {name: "needed" for name in hooks if {name} in caught}


@broken("07.3", "what others catch as well is taken for idle")
def still_needed_alone(hooks, failures):
    found = still_needed(hooks, failures)
    return {name: "needed" if found[name] == "needed" else "idle" for name in found}


@broken("07.3", "whatever catches something is needed")
def still_needed_all(hooks, failures):
    found = still_needed(hooks, failures)
    return {name: "idle" if found[name] == "idle" else "needed" for name in found}


@broken("07.3", "the first hook that catches a failure gets the credit")
def still_needed_first(hooks, failures):
    found = dict.fromkeys(hooks, "idle")
    for event in failures:
        for name in hooks:
            if still_needed({name: hooks[name]}, [event])[name] == "needed":
                found[name] = "needed"
                break
    return found


@broken("07.3", "a hook that raises ends the replay")
def still_needed_raising(hooks, failures):
    for hook in hooks.values():
        for event in failures:
            hook(event)
    return still_needed(hooks, failures)


@broken("07.3", "with one hook off, only the first failure is replayed")
def still_needed_one(hooks, failures):
    return still_needed(hooks, failures[:1])
