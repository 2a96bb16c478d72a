"""The pages of the web app, each under its address."""

from __future__ import annotations

from fastapi import FastAPI
from nicegui import Client, ui
from nicegui import app as pages
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from foveate.api import Place
from foveate.api.failures import Failure
from foveate.api.room import Room
from foveate.web.desk import Desk
from foveate.web.frame import dressed, framed, headed
from foveate.web.links import lens_of, number_in
from foveate.web.pages.call import call_page, next_page
from foveate.web.pages.chat import chat_page
from foveate.web.pages.difference import difference_page
from foveate.web.pages.gateway import gateway_page
from foveate.web.pages.home import home_page
from foveate.web.pages.knowledge import knowledge_page
from foveate.web.pages.lab import lab_page
from foveate.web.pages.log import log_page
from foveate.web.pages.session import session_page
from foveate.web.pages.settings import settings_page
from foveate.web.pages.templates import templates_page
from foveate.web.pages.work import work_page
from foveate.web.talks import Talks

_FAVICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'><circle cx='12' cy='12' r='9.5' fill='none' "
    "stroke='#178f87' stroke-width='3'/><circle cx='12' cy='12' r='4.5' fill='#178f87'/></svg>"
)


def mount(app: FastAPI, place: Place) -> None:
    """Mount all pages on an application; what they hold open is closed with it."""
    desk = Desk(place, app.state.store, app.state.memory, app.state.room)
    dressed()
    _pages_without_session(desk)
    _pages_of_a_session(desk)
    _pages_of_chats(desk, app.state.room)
    _page_of_a_gateway(app)
    pages.on_shutdown(desk.close)
    ui.run_with(
        app,
        title="Foveate",
        favicon=_FAVICON,
        dark=None,
        tailwind=False,
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=20,
    )


def _pages_without_session(desk: Desk) -> None:
    @ui.page("/", title="Sessions · Foveate")
    def home() -> None:
        home_page(desk)

    @ui.page("/lab", title="Lab · Foveate")
    def lab(id: str = "") -> None:
        lab_page(desk, id)

    @ui.page("/knowledge", title="Knowledge · Foveate")
    def knowledge(project: str = "", node: str = "") -> None:
        knowledge_page(desk, project, node)

    @ui.page("/work", title="Work · Foveate")
    def work(run: str = "") -> None:
        work_page(desk, run)

    @ui.page("/settings", title="Settings · Foveate")
    def settings() -> None:
        settings_page(desk)

    # A path that leads nowhere is answered by this page, too.
    pages.exception_handler(404)(_lost)
    del home, lab, knowledge, work, settings


async def _lost(request: Request, error: Exception) -> Response:
    """Say that there is no such page, in the frame of all others; a program gets an answer that it can read."""
    if not isinstance(error, HTTPException) or request.url.path.count("/") > 1:
        failure = Failure(error=f"there is nothing at {request.url.path}", remedy="see /api/docs for what there is")
        return JSONResponse(failure.model_dump(), status_code=404)
    with Client(ui.page(""), request=request) as client, framed(""):
        headed("There is no such page", f"Nothing is at {request.url.path}. The bar above leads to all there is.")
    return client.build_response(request, 404)


def _pages_of_a_session(desk: Desk) -> None:
    @ui.page("/session", title="Timeline · Foveate")
    def session(id: str = "", policy: str = "", budget: str = "", model: str = "") -> None:
        session_page(desk, id, lens_of(policy, budget, model))

    @ui.page("/log", title="Log · Foveate")
    def log(id: str = "", message: str = "", policy: str = "", budget: str = "", model: str = "") -> None:
        log_page(desk, id, lens_of(policy, budget, model), message)

    @ui.page("/call", title="Call · Foveate")
    def call(id: str = "", n: str = "1", policy: str = "", budget: str = "", model: str = "") -> None:
        call_page(desk, id, number_in(n), lens_of(policy, budget, model))

    @ui.page("/next", title="Next call · Foveate")
    def next_call(id: str = "", policy: str = "", budget: str = "", model: str = "") -> None:
        next_page(desk, id, lens_of(policy, budget, model))

    @ui.page("/diff", title="Difference · Foveate")
    def difference(
        id: str = "", a: str = "1", b: str = "2", policy: str = "", budget: str = "", model: str = ""
    ) -> None:
        difference_page(desk, id, (number_in(a), number_in(b)), lens_of(policy, budget, model))

    del session, log, call, next_call, difference


def _page_of_a_gateway(app: FastAPI) -> None:
    @ui.page("/gateway", title="Gateway · Foveate")
    def gateway() -> None:
        gateway_page(getattr(app.state, "gateway", None))

    del gateway


def _pages_of_chats(desk: Desk, room: Room) -> None:
    talks = Talks(room, desk.store)

    @ui.page("/chat", title="Chat · Foveate")
    def chat(id: str = "") -> None:
        chat_page(desk, talks, id)

    @ui.page("/templates", title="Templates · Foveate")
    def templates(name: str = "", new: str = "") -> None:
        templates_page(desk, room, name, is_new=bool(new))

    del chat, templates
