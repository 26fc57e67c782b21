"""PreToolUse, Bash: no `rm -r` outside the project. It reads words; permission rules read more."""

import json, os, re, shlex, sys  # noqa: E401, I001

event, project = json.load(sys.stdin), os.path.realpath(os.environ["AGENTLAB_PROJECT_DIR"])
for part in re.split(r"[;&|\n]+", command := event["tool_input"]["command"]):
    words = [w for w in shlex.split(part) if w[:1] != "-" and os.path.basename(w) != "rm"]
    for word in words if re.search(r"\brm\s.*-(\w*[rR]|-recursive)", part) else []:
        path = os.path.realpath(os.path.join(event["cwd"], os.path.expanduser(word)))
        unclear = re.search(r"[$`]|\brm\s", word) or re.search(r"\b(cd|pushd)\b", command)
        if unclear or not path.startswith(project + os.sep):
            sys.exit(print(f"rm -r {word}: give plain paths in {project}", file=sys.stderr) or 2)
