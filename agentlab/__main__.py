"""``python -m agentlab`` is the command line, for when the script is not on the path."""

from agentlab.cli import main

main()
