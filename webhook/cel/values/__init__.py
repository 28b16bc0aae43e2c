"""The values of CEL at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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

__all__ = [
    "NONE",
    "Duration",
    "Made",
    "Opt",
    "Timestamp",
    "UInt",
    "equal",
    "escape",
    "format_duration",
    "format_timestamp",
    "from_map_key",
    "node_of",
    "reveal",
    "type_name",
    "type_of_value",
    "unescape",
]

_MODULES: Final = {
    **dict.fromkeys(("escape", "node_of", "unescape"), "nodes"),
    **dict.fromkeys(("Made", "reveal"), "schema_aware"),
    **dict.fromkeys(("format_duration", "format_timestamp"), "times"),
    **dict.fromkeys(
        ("Duration", "NONE", "Opt", "Timestamp", "UInt", "equal", "from_map_key", "type_name", "type_of_value"), "value"
    ),
}
"""The module of each name, which is loaded when the name is first used."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _MODULES)
