"""An invented project, harbor: the order service of a ship chandler's web shop."""

from foveate.sample.project import billing, core, inventory, notifications, orders, root, suite
from foveate.sample.project.history import HISTORY, ROUNDING_COMMIT, Change, Commit

__all__ = ["FILES", "HISTORY", "ROUNDING_COMMIT", "Change", "Commit"]

FILES: dict[str, str] = {
    **root.FILES,
    **core.FILES,
    **orders.FILES,
    **billing.FILES,
    **inventory.FILES,
    **notifications.FILES,
    **suite.FILES,
}
