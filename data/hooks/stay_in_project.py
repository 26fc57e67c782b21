"""PreToolUse, Edit|Write: what is written lies in the project, and not among its settings."""

import json, os, sys  # noqa: E401, I001

event, project = json.load(sys.stdin), os.path.realpath(os.environ["AGENTLAB_PROJECT_DIR"])
path = os.path.realpath(os.path.join(event["cwd"], event["tool_input"]["file_path"]))
inside = os.path.relpath(path, project).split(os.sep) if path.startswith(project + os.sep) else []
if not inside or inside[0].lower() in (".agentlab", ".claude", ".git"):
    print(f"{path}: write inside {project}, and not to its settings", file=sys.stderr)
    sys.exit(2)
