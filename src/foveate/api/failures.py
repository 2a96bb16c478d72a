"""Failures: what went wrong as JSON, with what to do about it, under the status that says whose fault it was."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from foveate.errors import (
    BudgetError,
    ConfigError,
    ConflictError,
    FoveateError,
    MessageError,
    StoreError,
    UnknownReferenceError,
)

_STATUSES: Final[tuple[tuple[type[FoveateError], int], ...]] = (
    (UnknownReferenceError, 404),
    (ConflictError, 409),
    (StoreError, 503),
    (MessageError, 422),
    (BudgetError, 422),
    (ConfigError, 422),
)


class Failure(BaseModel):
    """What went wrong, and what to do about it."""

    error: str = Field(examples=["no session 'my-sesion' in store 'agent.db'"])
    remedy: str = Field(examples=["did you mean 'my-session'? `foveate sessions` lists them"])


def failure_of(error: FoveateError) -> Failure:
    """An error in two halves: messages say what is wrong, a semicolon, and what to do."""
    said, _, remedy = str(error).partition("; ")
    return Failure(error=said, remedy=remedy)


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What an endpoint may answer besides its result, for its documentation."""
    said = {404: "There is no such thing.", 409: "Another writer was first.", 413: "It is too large."}
    said |= {422: "A value cannot work.", 503: "The store cannot be read or written."}
    return {status: {"model": Failure, "description": said[status]} for status in (*statuses, 422, 503)}


def explain_failures(app: FastAPI) -> None:
    """Have an application answer every failure as a `Failure`."""
    app.add_exception_handler(FoveateError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(Exception, _unforeseen)


def _ours(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, FoveateError), "registered for nothing else"  # noqa: S101
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    return JSONResponse(failure_of(error).model_dump(), status_code=status)


def _invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError), "registered for nothing else"  # noqa: S101
    first = error.errors()[0]
    place, *names = first["loc"]
    name = ".".join(map(str, names)) or str(place)
    if first["type"] == "missing":
        failure = Failure(error=f"`{name}` is missing", remedy=f"give it as a {place} value")
    else:
        said = f"`{name}` {first['input']!r} cannot work: {first['msg']}"[:500]
        failure = Failure(error=said, remedy=f"correct the {place} value `{name}`")
    return JSONResponse(failure.model_dump(), status_code=422)


def _plain(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException), "registered for nothing else"  # noqa: S101
    said, _, remedy = str(error.detail).partition("; ")
    known = "see /api/docs for what there is" if error.status_code in (404, 405) else ""
    failure = Failure(error=said, remedy=remedy or known)
    return JSONResponse(failure.model_dump(), status_code=error.status_code, headers=error.headers)


def _unforeseen(_request: Request, error: Exception) -> JSONResponse:
    # The server writes where it happened to its log.
    failure = Failure(error=f"this is a defect of Foveate: {error!r}", remedy="please report it, with the server's log")
    return JSONResponse(failure.model_dump(), status_code=500)
