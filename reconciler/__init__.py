"""The reconciler: acts only on objects that have passed the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
