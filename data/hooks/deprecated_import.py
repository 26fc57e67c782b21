"""PreToolUse, Edit|Write: no import of a module that has been replaced. Put your own names in."""

import json, re, sys  # noqa: E401, I001

REPLACED = {"flat_earth": "sphere"}
written = json.load(sys.stdin)["tool_input"]
text = written.get("content") or written.get("new_string") or ""
for old, new in REPLACED.items() if written["file_path"].endswith(".py") else ():
    if re.search(rf"^\s*(?:import|from)\s[^#\n]*\b{old}\b", text, re.MULTILINE):
        print(f"{old} is deprecated in this project: import {new} instead", file=sys.stderr)
        sys.exit(2)
