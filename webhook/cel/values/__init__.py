"""The values of CEL at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.cel.values.nodes import escape, node_of, unescape
    from webhook.cel.values.schema_aware import Made, reveal
    from webhook.cel.values.times import format_duration, format_timestamp
    from webhook.cel.values.value import (
        NONE,
        Duration,
        Opt,
        Timestamp,
        UInt,
        equal,
        from_map_key,
        type_name,
        type_of_value,
    )

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
