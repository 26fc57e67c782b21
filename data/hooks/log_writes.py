"""PostToolUse, Edit|Write: note every write in .agentlab/writes.jsonl. It never says anything."""

import json, os, sys, time  # noqa: E401, I001

event = json.load(sys.stdin)
folder = os.path.join(os.environ["AGENTLAB_PROJECT_DIR"], ".agentlab")
os.makedirs(folder, exist_ok=True)
line = {"at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "session": event["session_id"]}
line |= {"tool": event["tool_name"], "file": event["tool_input"]["file_path"]}
with open(os.path.join(folder, "writes.jsonl"), "a", encoding="utf-8") as log:
    log.write(json.dumps(line) + "\n")
