"""The reconciler: acts only on objects that have passed the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.ground.later import later

if TYPE_CHECKING:
    from reconciler.children import owned
    from reconciler.health import Health
    from reconciler.lease import CALL_TIMEOUT, Lease
    from reconciler.process import Process, Reach
    from reconciler.say.conditions import NORMALISED, Condition
    from reconciler.say.reports import report
    from reconciler.say.speaker import OnRequest
    from reconciler.writer import Writer

__all__ = [
    "CALL_TIMEOUT",
    "NORMALISED",
    "Condition",
    "Health",
    "Lease",
    "OnRequest",
    "Process",
    "Reach",
    "Writer",
    "owned",
    "report",
]

_MODULES: Final = {
    "owned": "children",
    "Health": "health",
    **dict.fromkeys(("CALL_TIMEOUT", "Lease"), "lease"),
    **dict.fromkeys(("Process", "Reach"), "process"),
    **dict.fromkeys(("Condition", "NORMALISED"), "say.conditions"),
    "report": "say.reports",
    "OnRequest": "say.speaker",
    "Writer": "writer",
}
"""The module of each name, which is loaded when the name is first used."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _MODULES)
