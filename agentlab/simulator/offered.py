"""Which of the offered tools a scenario means, whatever their author called them.

A scenario asks for ``Read(file_path=...)``. A learner's first harness may offer ``read_file(path)``
instead, and a real model would call that without a thought. So does this one: a name is looked up
among its usual variants, and arguments take the names that the offered tool's schema has. A tool
that was not offered cannot be called, and neither can one whose loading is deferred and that no
``tool_reference`` has brought in yet.
"""

from __future__ import annotations

from typing import Any

_VARIANTS = {
    "read": "readfile viewfile openfile view cat leggifile leggi",
    "write": "writefile createfile savefile scrivifile scrivi",
    "edit": "editfile strreplace modificafile",
    "ls": "list listfiles listdir listdirectory listfolder listdirectorycontents elencafile",
    "glob": "findfiles globfiles",
    "grep": "search searchfiles searchtext findtext searchinfiles cerca",
    "bash": "runbash shell runshell runcommand executecommand exec execute terminal",
    "calculator": "calc calculate compute evaluate eval math calcolatrice calcola",
    "clock": "currenttime gettime getcurrenttime time now currentdatetime getdatetime datetime ora",
    "taskcomplete": "completetask finishtask markcomplete",
}
_CANONICAL = {
    variant: name for name, all_ in _VARIANTS.items() for variant in [name, *all_.split()]
}
_ARGUMENTS = {
    "file_path": "path filename file_name filepath file name percorso nome_file",
    "path": "directory dir folder dir_path directory_path file_path cartella percorso",
    "content": "contents text file_text data body contenuto testo",
    "command": "cmd script bash_command comando",
    "expression": "expr formula input query espressione",
    "pattern": "query regex search search_term term text q testo",
    "summary": "result message text report riassunto",
}


class Offered:
    """The tools of one request that may be called now."""

    def __init__(self, request: dict[str, Any]) -> None:
        tools = [t for t in request.get("tools") or [] if isinstance(t, dict) and "name" in t]
        choice = request.get("tool_choice") or {}
        if choice.get("type") == "none":
            tools = []
        if any(tool.get("defer_loading") for tool in tools):
            loaded = _references(request.get("messages") or [])
            tools = [t for t in tools if not t.get("defer_loading") or t["name"] in loaded]
        self.tools: dict[str, dict[str, Any]] = {tool["name"]: tool for tool in tools}
        self.parallel = not choice.get("disable_parallel_tool_use")
        self.must_call = choice.get("type") in ("any", "tool")
        name = choice.get("name")
        self.forced: str | None = name if self.must_call and name in self.tools else None
        self._found: dict[str, str | None] = {}

    def find(self, *names: str) -> str | None:
        """The first offered tool with one of these names, or one of their usual variants."""
        for name in names:
            if name not in self._found:
                self._found[name] = self._look_up(name)
            if self._found[name]:
                return self._found[name]
        return None

    def requires(self, tool: str, argument: str) -> bool:
        """Whether the tool's schema requires that argument, under this name or a usual variant."""
        variants = {argument, *_ARGUMENTS.get(argument, "").split()}
        schema = self.tools[tool].get("input_schema") or {}
        return not variants.isdisjoint(schema.get("required") or [])

    def _look_up(self, name: str) -> str | None:
        if name in self.tools:
            return name
        wanted = _kind(name)
        return next((offered for offered in self.tools if _kind(offered) == wanted), None)

    def arguments(self, tool: str, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments under the names that the offered tool's schema has for them."""
        schema = self.tools[tool].get("input_schema") or {}
        properties: dict[str, Any] = schema.get("properties") or {}
        named: dict[str, Any] = {}
        unnamed: dict[str, Any] = {}
        for argument, value in given.items():
            variants = [argument, *_ARGUMENTS.get(argument, "").split()]
            known = next((v for v in variants if v in properties and v not in named), None)
            (named if known else unnamed)[known or argument] = value
        missing = [p for p in schema.get("required") or [] if p not in named]
        if len(unnamed) == len(missing) == 1:
            return {**named, missing[0]: next(iter(unnamed.values()))}
        return {**named, **unnamed}

    def __str__(self) -> str:
        return ", ".join(self.tools) or "none"


def _kind(name: str) -> str:
    plain = name.rsplit("__", 1)[-1].lower().replace("_", "").replace("-", "")
    return _CANONICAL.get(plain, plain)


def _references(messages: list[Any]) -> set[str]:
    """Names of the tools that a ``tool_reference`` block anywhere in the messages brought in."""
    found: set[str] = set()
    queue: list[Any] = list(messages)
    while queue:
        part = queue.pop()
        if isinstance(part, list):
            queue.extend(part)
        elif isinstance(part, dict):
            if part.get("type") == "tool_reference":
                found.add(part.get("tool_name", ""))
            queue.extend(v for v in part.values() if isinstance(v, (list, dict)))
    return found
