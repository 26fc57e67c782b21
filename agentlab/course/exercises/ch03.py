"""Exercises of chapter 03: tools."""
# Solutions look as learners write them, without type hints. And there is no
# "from __future__ import annotations" here: the hints of the cases below have to be types.
# mypy: allow-untyped-defs, disable-error-code="arg-type, empty-body"

import inspect
import os
import re
import tempfile
from pathlib import Path

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 03.1


def _read(file_path: str) -> str: ...


def _search(pattern: str, limit: int = 20, whole_words: bool = False) -> list: ...


def _wait(seconds: float): ...


def _look() -> str: ...


def _note(text: str = "", copies: int = 0, title: str = None): ...  # type: ignore[assignment]  # noqa: RUF013


async def _book(payee: str, amount: float, urgent: bool) -> None: ...


def _schema(says, function, properties, required):
    kinds = {name: {"type": kind} for name, kind in properties.items()}
    name = function.__name__.lstrip("_")
    keyword = "async def" if inspect.iscoroutinefunction(function) else "def"
    return Case(
        says,
        expected={"type": "object", "properties": kinds, "required": required},
        run=lambda schema_of: schema_of(function),
        shows=f"schema_of({name}), where {keyword} {name}{inspect.signature(function)}",
    )


@exercise(
    "03.1",
    "From a function to a schema",
    cases=[
        _schema("one argument", _read, {"file_path": "string"}, ["file_path"]),
        _schema(
            "arguments with a default may be left out",
            _search,
            {"pattern": "string", "limit": "integer", "whole_words": "boolean"},
            ["pattern"],
        ),
        _schema("a float is a number", _wait, {"seconds": "number"}, ["seconds"]),
        _schema("no arguments at all", _look, {}, []),
        _schema(
            "a default may be empty, zero or None",
            _note,
            {"text": "string", "copies": "integer", "title": "string"},
            [],
        ),
        _schema(
            "an async function",
            _book,
            {"payee": "string", "amount": "number", "urgent": "boolean"},
            ["payee", "amount", "urgent"],
        ),
    ],
    hints=[
        "inspect.signature(function).parameters holds a name, an annotation and a default each.",
        "A dict from Python types to words does the translation: {str: 'string', ...}.",
        "Required is what has no default: parameter.default is parameter.empty.",
    ],
)
def schema_of(function):
    """The JSON Schema of a function's arguments: "type", "properties" and "required".

    Every argument has a type hint: str, int, float or bool. In JSON these are "string",
    "integer", "number" and "boolean". Required are those without a default, in order.
    """
    types = {str: "string", int: "integer", float: "number", bool: "boolean"}
    parameters = inspect.signature(function).parameters.values()
    return {
        "type": "object",
        "properties": {p.name: {"type": types[p.annotation]} for p in parameters},
        "required": [p.name for p in parameters if p.default is p.empty],
    }


@broken("03.1", "every argument is required, also one with a default")
def schema_all_required(function):
    schema = schema_of(function)
    return schema | {"required": list(schema["properties"])}


@broken("03.1", "an empty default is taken for none")
def schema_by_truth(function):
    parameters = inspect.signature(function).parameters.values()
    given = [p.name for p in parameters if p.default is not p.empty and p.default]
    schema = schema_of(function)
    return schema | {"required": [name for name in schema["properties"] if name not in given]}


@broken("03.1", "the hints are taken as they are, and the return value with them")
def schema_by_annotations(function):
    types = {str: "string", int: "integer", float: "number", bool: "boolean"}
    hints = {name: {"type": types.get(hint)} for name, hint in function.__annotations__.items()}
    return schema_of(function) | {"properties": hints}


@broken("03.1", "a bool is taken for an integer, because Python's bool is one")
def schema_by_subclass(function):
    def kind(hint):
        return next(
            word
            for known, word in ((str, "string"), (int, "integer"), (float, "number"))
            if issubclass(hint, known)
        )

    parameters = inspect.signature(function).parameters.values()
    return schema_of(function) | {
        "properties": {p.name: {"type": kind(p.annotation)} for p in parameters}
    }


@broken("03.1", "nothing is said about what is required")
def schema_without_required(function):
    schema = schema_of(function)
    return schema if schema["required"] else {k: schema[k] for k in ("type", "properties")}


# ------------------------------------------------------------------------------------------ 03.2

SCHEMA = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string"},
        "limit": {"type": "integer"},
        "zoom": {"type": "number"},
        "whole": {"type": "boolean"},
    },
    "required": ["file_path"],
}


def _input(says, input, *wrong):
    """The text has to name each of these; which words it uses is the learner's."""

    def run(check_input):
        said = check_input(SCHEMA, dict(input))
        if said == "" or not isinstance(said, str):
            return said
        named = [name for name in wrong if re.search(rf"\b{name}\b", said)]
        return f"a text that names {', '.join(named)}" if named else said

    expected = f"a text that names {', '.join(wrong)}" if wrong else ""
    return Case(says, expected=expected, run=run, shows=f"check_input(SCHEMA, {input})")


@exercise(
    "03.2",
    "What is wrong with it?",
    cases=[
        _input("as it should be", {"file_path": "a.txt"}),
        _input("with all that may be added", {"file_path": "a", "limit": 3, "whole": True}),
        _input("an argument is missing", {"limit": 3}, "file_path"),
        _input("an argument that there is not", {"file_path": "a", "colour": "red"}, "colour"),
        _input("a wrong name is two mistakes", {"path": "a.txt"}, "file_path", "path"),
        _input("a number written as text", {"file_path": "a.txt", "limit": "3"}, "limit"),
        _input("half a line", {"file_path": "a.txt", "limit": 2.5}, "limit"),
        _input("true is no integer", {"file_path": "a.txt", "limit": True}, "limit"),
        _input("nor is it a number", {"file_path": "a.txt", "zoom": True}, "zoom"),
        _input("but 1 is no boolean", {"file_path": "a.txt", "whole": 1}, "whole"),
        _input("a whole number is a number", {"file_path": "a.txt", "zoom": 2}),
        _input("nothing where text was meant", {"file_path": None}, "file_path"),
        _input(
            "all that is wrong is told at once",
            {"file_path": 7, "limit": "3", "colour": "red"},
            "file_path",
            "limit",
            "colour",
        ),
    ],
    hints=[
        "Three questions: what is missing, what is unknown, and what is of the wrong type?",
        "Collect texts in a list and join them at the end: no text, nothing wrong.",
        "isinstance(True, int) is True in Python. Ask for bool first.",
    ],
)
def check_input(schema, input):
    """What is wrong with an input, in words; "" if nothing is.

    Wrong is: a required argument that is missing, one that the schema does not have, a
    value of another type. True is no integer; 2 is a number, 2.5 no integer. The text
    names every argument that is wrong, so that the model can mend them all at once.
    """
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
    properties = schema["properties"]
    wrong = [f"{name} is missing" for name in schema["required"] if name not in input]
    for name, value in input.items():
        if name not in properties:
            wrong.append(f"{name} is not an argument")
            continue
        wanted = properties[name]["type"]
        out_of_place = isinstance(value, bool) and wanted != "boolean"
        if out_of_place or not isinstance(value, kinds[wanted]):
            wrong.append(f"{name} should be of type {wanted}, not {value!r}")
    return "; ".join(wrong)


@broken("03.2", "True passes for an integer")
def check_bool_as_int(schema, input):
    plain = {name: int(v) if isinstance(v, bool) else v for name, v in input.items()}
    return check_input(schema, plain if input.get("whole") is not True else input)


@broken("03.2", "what it does not know it lets through")
def check_known_only(schema, input):
    known = {name: v for name, v in input.items() if name in schema["properties"]}
    return check_input(schema, known)


@broken("03.2", "what it does not know makes it raise")
def check_raising(schema, input):
    kinds = {"string": str, "integer": int, "number": float, "boolean": bool}
    for name, value in input.items():
        if type(value) is not kinds[schema["properties"][name]["type"]]:
            return f"{name} is wrong"
    return check_input(schema, input)


@broken("03.2", "a whole number is not taken for a number")
def check_float_only(schema, input):
    if type(input.get("zoom", 0.0)) is not float:
        return "zoom should be a float"
    return check_input(schema, input)


@broken("03.2", "only the first mistake is told")
def check_first_only(schema, input):
    return check_input(schema, input).partition("; ")[0]


@broken("03.2", "everything is required")
def check_all_required(schema, input):
    return check_input(schema | {"required": list(schema["properties"])}, input)


@broken("03.2", "nothing wrong is None")
def check_none(schema, input):
    return check_input(schema, input) or None


# ------------------------------------------------------------------------------------------ 03.3


def _fenced(says, path, expected, root="app"):
    """Judge a path in real folders: app, beside it app-secrets, and links in both directions."""

    def run(confined):
        with tempfile.TemporaryDirectory() as name:
            base = Path(name)
            for folder in ("app/notes", "app-secrets"):
                (base / folder).mkdir(parents=True)
            for file in ("app/a.txt", "app-secrets/key", "outside.txt"):
                (base / file).write_text("text")
            try:
                for link, target in (
                    ("app/out", "app-secrets"),
                    ("app/notes/to_a", "app/a.txt"),
                    ("app/key", "app-secrets/key"),
                    ("link_to_app", "app"),
                ):
                    (base / link).symlink_to(base / target)
            except OSError:  # Windows makes links for administrators only
                if "out/" in path or path in ("key", "notes/to_a") or root != "app":
                    return expected
            return confined(str(base / root), path.replace("BASE", str(base)))

    shown = path.replace("BASE", "/work")
    return Case(says, expected=expected, run=run, shows=f'confined("/work/{root}", {shown!r})')


@exercise(
    "03.3",
    "The fence",
    cases=[
        _fenced("a file in it", "a.txt", True),
        _fenced("a file that is not there yet", "notes/new.md", True),
        _fenced("the folder itself", ".", True),
        _fenced("one up", "../outside.txt", False),
        _fenced("up and down again stays inside", "notes/../a.txt", True),
        _fenced("down and up twice does not", "notes/../../outside.txt", False),
        _fenced("an absolute path", "BASE/outside.txt", False),
        _fenced("an absolute path that leads inside", "BASE/app/a.txt", True),
        _fenced("a sibling whose name begins alike", "BASE/app-secrets/key", False),
        _fenced("the same sibling, from within", "../app-secrets/key", False),
        _fenced("a link to a folder outside", "out/key", False),
        _fenced("a new file in a folder behind a link", "out/new", False),
        _fenced("a link to a file outside", "key", False),
        _fenced("a link that stays inside", "notes/to_a", True),
        _fenced("a name with dots in it", "notes/a..b", True),
        _fenced("the folder is reached through a link", "a.txt", True, root="link_to_app"),
    ],
    hints=[
        "Path(root) / path joins them; if path is absolute, it wins. Both is what you want.",
        "resolve() follows links and removes '..'. Resolve first, then compare; root as well.",
        "Compare paths, not text: Path.is_relative_to knows where a name ends.",
    ],
)
def confined(root, path):
    """Whether a path stays within the folder root, links and ".." followed.

    path is relative to root, or absolute. What it names need not be there yet.
    """
    home = Path(root).resolve()
    return (home / path).resolve().is_relative_to(home)


@broken("03.3", "it compares text, so a sibling passes")
def confined_by_text(root, path):
    home = Path(root).resolve()
    return str((home / path).resolve()).startswith(str(home))


@broken("03.3", "it removes '..' but follows no links")
def confined_by_norm(root, path):
    return Path(os.path.normpath(Path(root) / path)).is_relative_to(root)


@broken("03.3", "it refuses every path with two dots in it")
def confined_by_dots(root, path):
    return ".." not in path and confined(root, path)


@broken("03.3", "it refuses every absolute path")
def confined_relative_only(root, path):
    return not Path(path).is_absolute() and confined(root, path)


@broken("03.3", "root is not resolved, so behind a link everything is outside")
def confined_half(root, path):
    return (Path(root) / path).resolve().is_relative_to(root)


@broken("03.3", "it follows the last link only, not the folders on the way")
def confined_last_link(root, path):
    target = Path(os.path.normpath(Path(root) / path))
    target = target.readlink() if target.is_symlink() else target
    return target.is_relative_to(Path(root))
