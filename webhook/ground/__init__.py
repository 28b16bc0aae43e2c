"""What every package stands on: names that load when they are first used, room for the frames of a thread, and two
labels of metrics that gate and reconciler share.
"""

from __future__ import annotations

from typing import Final

NAMESPACE: Final = "object_namespace"
"""The label with the namespace of an object: in Prometheus, ``namespace`` is that of the pod."""

OTHER: Final = "other"
"""All values of a label that are not named: those beyond its limit, and kinds that nothing covers."""
