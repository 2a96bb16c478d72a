# /// script
# requires-python = ">=3.11"
# dependencies = ["mini-swe-agent==2.4.6", "mcp>=1.20"]
# ///
"""Lets mini-swe-agent do a follow-up in its own loop; it is given an arm's request as text.

One JSON object comes in on stdin: model, task, folder, steps. One goes out as the last line of stdout.
"""

import json
import os
import sys

os.environ["MSWEA_SILENT_STARTUP"] = "1"
os.environ.setdefault("MSWEA_CONFIGURED", "true")
os.environ.setdefault("MSWEA_COST_TRACKING", "ignore_errors")

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel

SYSTEM = "You are a programmer who goes on with the work of a colleague. You can run bash commands."
TASK = """Below is what your colleague's session has left. Do what its last message of the user asks for.

Every command runs in a new shell in {{folder}}, which is the repository, elsewhere called /work. When all is done, run
`echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT` as a command of its own.

{{task}}
"""


def main() -> None:
    asked = json.load(sys.stdin)
    agent = DefaultAgent(
        LitellmModel(model_name=asked["model"]),
        LocalEnvironment(cwd=asked["folder"], timeout=60),
        system_template=SYSTEM,
        instance_template=TASK,
        step_limit=asked["steps"],
        cost_limit=0,
    )
    ended = agent.run(asked["task"], folder=asked["folder"])
    commands = [
        action.get("command", "")
        for message in agent.messages
        for action in message.get("extra", {}).get("actions", [])
    ]
    print(json.dumps({"steps": agent.n_calls, "ended": ended.get("exit_status", ""), "commands": commands}))


if __name__ == "__main__":
    main()
