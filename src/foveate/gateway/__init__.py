"""The gateway: the providers' own protocols in front of a session, for agents that only know an address."""

from foveate.gateway.gateway import Gateway
from foveate.gateway.routes import GatewayRoutes
from foveate.gateway.settings import GatewaySettings, Upstreams

__all__ = ["Gateway", "GatewayRoutes", "GatewaySettings", "Upstreams"]
