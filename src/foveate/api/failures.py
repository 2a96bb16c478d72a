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
_SAID: Final = {
    400: "The body cannot be read.",
    401: "The server wants its token.",
    403: "Another site, or another host, asks.",
    404: "There is no such thing.",
    409: "Another writer was first.",
    413: "It is too large.",
    422: "A value cannot work.",
    503: "The store cannot be read or written.",
}
_ALWAYS: Final = (401, 403, 422, 503)
_AS_JSON: Final = "send it as JSON in UTF-8, with the header `Content-Type: application/json`"


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
    every = sorted({*statuses, *_ALWAYS})
    return {status: {"model": Failure, "description": _SAID[status]} for status in every}


def status_of(error: FoveateError) -> int:
    """The status that says whose fault an error is."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def explain_failures(app: FastAPI) -> None:
    """Have an application answer every failure as a `Failure`."""
    app.add_exception_handler(FoveateError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(Exception, _unforeseen)


def _ours(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, FoveateError), "registered for nothing else"  # noqa: S101
    return JSONResponse(failure_of(error).model_dump(), status_code=status_of(error))


def _invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError), "registered for nothing else"  # noqa: S101
    return JSONResponse(_misfit(error.errors()[0]).model_dump(), status_code=422)


def _misfit(first: Any) -> Failure:
    """What is wrong with a value, by the words of who checked it."""
    place, *names = first["loc"]
    if first["type"] == "json_invalid":
        why = first.get("ctx", {}).get("error", first["msg"])
        return Failure(error=f"the body is no JSON: {why}, at character {names[0] if names else 0}", remedy=_AS_JSON)
    # Of several values of one name, it is the name that can be corrected.
    name = ".".join(one for one in names if isinstance(one, str)) or str(place)
    if first["type"] == "missing":
        return Failure(error=f"`{name}` is missing", remedy=f"give it as a {place} value" if names else _AS_JSON)
    if first["type"] == "literal_error":
        known = first["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
        return Failure(error=f"`{name}` has {first['input']!r}"[:500], remedy=f"known for `{name}` are {known}")
    said = f"`{name}` {first['input']!r} cannot work: {first['msg']}"[:500]
    return Failure(error=said, remedy=f"correct the {place} value `{name}`" if names else _AS_JSON)


def _plain(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException), "registered for nothing else"  # noqa: S101
    said, _, remedy = str(error.detail).partition("; ")
    failure = Failure(error=said, remedy=remedy)
    if error.status_code == 400 and not remedy:
        # Bytes that are no text, or brackets in brackets without end: the framework says no more.
        failure = Failure(error="the body cannot be read as JSON", remedy=f"{_AS_JSON}, nested less deeply")
    elif error.status_code in (404, 405) and not remedy:
        failure = Failure(error=said, remedy="see /api/docs for what there is")
    return JSONResponse(failure.model_dump(), status_code=error.status_code, headers=error.headers)


def _unforeseen(_request: Request, error: Exception) -> JSONResponse:
    # The server writes where it happened to its log.
    failure = Failure(error=f"this is a defect of Foveate: {error!r}", remedy="please report it, with the server's log")
    return JSONResponse(failure.model_dump(), status_code=500)
