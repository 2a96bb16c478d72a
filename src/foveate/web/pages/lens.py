"""The lens: under which policy, budget and prices a session is looked at, and a way to change it."""

from __future__ import annotations

from nicegui import ui

from foveate.lab.config import config_at
from foveate.lab.policies import described
from foveate.store import SessionInfo
from foveate.web.links import to_session
from foveate.web.pieces import Words, box, button, choice, entry, link, say
from foveate.web.replaying import Lens

_RECORDED = "Its requests were recorded; here they are made again under other terms."
_NOT_RECORDED = "The log does not say what its agent sent, so every call is made again from what was said before it."


def lens_form(info: SessionInfo, lens: Lens) -> None:
    """What the session is looked at through, and a way to change it."""
    chosen = {"policy": lens.policy, "budget": str(lens.budget or ""), "model": lens.model or ""}

    def again() -> None:
        budget = int(chosen["budget"]) if chosen["budget"].isdigit() and int(chosen["budget"]) > 0 else None
        ui.navigate.to(
            to_session(
                info.session_id, Lens(policy=chosen["policy"], budget=budget, model=chosen["model"].strip() or None)
            )
        )

    names = {one.name: one.name for one in described(config_at()) if one.kind != "baseline"}
    with box("card padded"), box("row").style("align-items: flex-end"):
        with box("grow").style("flex-basis: 320px"):
            Words("h2", "As Foveate would have sent it")
            why = _RECORDED if info.calls else _NOT_RECORDED
            say(f"{why} No model is asked.", "soft small")
        choice("Policy", names, lens.policy, lambda value: chosen.update(policy=value))
        entry(
            "Budget, tokens",
            chosen["budget"],
            lambda value: chosen.update(budget=value),
            width="130px",
            number=True,
        )
        entry("Model, for prices", chosen["model"], lambda value: chosen.update(model=value), width="190px")
        button("Replay", again, "main")
        if info.calls:
            link("Back to what was recorded", to_session(info.session_id), "button quiet")
