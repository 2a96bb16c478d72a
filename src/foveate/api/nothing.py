"""Nothing: what is answered under /api where there is nothing, or nothing by the method that was asked with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def behind(routers: Iterable[APIRouter]) -> APIRouter:
    """Answers whatever these routers do not.

    The pages of the web app would answer it else, and say that there is nothing where only the method is another.
    """
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    router = APIRouter()

    @router.api_route("/{path:path}", methods=list(_METHODS), include_in_schema=False)
    async def nothing(request: Request, path: str) -> None:
        found = {method for route in routes if route.path_regex.match(f"/{path}") for method in route.methods or ()}
        if not found:
            raise HTTPException(404, f"there is nothing at /api/{path}; see /api/docs for what there is")
        allowed = ", ".join(method for method in _METHODS if method in found)
        raise HTTPException(
            405,
            f"/api/{path} is not for {request.method}; ask with {allowed}, see /api/docs",
            {"Allow": allowed},
        )

    del nothing
    return router
