from __future__ import annotations

import json

from foveate.recall import RECALL_TOOL


def test_the_tool_is_an_openai_definition() -> None:
    """It can be put into a request as it is: one required reference, lines and query optional."""
    function = json.loads(json.dumps(RECALL_TOOL))["function"]

    assert RECALL_TOOL["type"] == "function"
    assert function["name"] == "recall"
    assert function["parameters"]["required"] == ["reference"]
    assert list(function["parameters"]["properties"]) == ["reference", "lines", "query"]
    assert function["parameters"]["properties"]["lines"]["required"] == ["start", "end"]


def test_each_parameter_says_what_it_is() -> None:
    """A model has nothing but the descriptions to go by."""
    assert all(
        value["description"].endswith(".") for value in RECALL_TOOL["function"]["parameters"]["properties"].values()
    )
