"""CEL values as the tables write them: ``{"type": …, "value": …}``."""

from __future__ import annotations

import base64
import math
from datetime import UTC, datetime
from typing import Any

from webhook.cel.types import Type
from webhook.cel.values.value import Duration, Opaque, Opt, Timestamp, UInt, from_map_key, type_name, type_of_value

SECOND = 10**9
_PARAMETRIC = {"list": "list(dyn)", "map": "map(dyn, dyn)", "optional": "optional_type(dyn)"}
CYCLE = 146_097  # days of 400 years, after which the calendar repeats


def describe(value: Any) -> dict[str, Any]:
    """The corpus' form of a value."""
    if value.__class__ is Opt:
        return {"type": "optional", "value": describe(value.value) if value.present else None}
    if isinstance(value, Type):
        return {"type": "type", "value": _PARAMETRIC.get(value.kind) or type_name(value)}
    if isinstance(value, list):
        return {"type": "list", "value": [describe(item) for item in value]}
    if isinstance(value, dict):
        pairs = [[describe(from_map_key(key)), describe(item)] for key, item in value.items()]
        return {"type": "map", "value": sorted(pairs, key=lambda pair: _go_map(pair[0]))}
    return _scalar(value)


def _go_map(described: dict[str, Any]) -> str:
    return f"map[type:{described['type']} value:{described['value']}]"


def _scalar(value: Any) -> dict[str, Any]:
    if value is None:
        return {"type": "null", "value": None}
    if isinstance(value, Timestamp):
        return {"type": "timestamp", "value": _rfc3339(value.ns)}
    if isinstance(value, Duration):
        return {"type": "duration", "value": go_duration(value.ns)}
    if isinstance(value, bytes):
        return {"type": "bytes", "value": base64.b64encode(value).decode()}
    if isinstance(value, UInt):
        return {"type": "uint", "value": int(value)}
    name = type_name(type_of_value(value))
    if isinstance(value, Opaque):
        return {"type": name, "value": str(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"type": name, "value": str(value)}
    return {"type": name, "value": value}


def _rfc3339(ns: int) -> str:
    seconds, fraction = divmod(ns, SECOND)
    shown = datetime.fromtimestamp(0, UTC).replace(tzinfo=None)
    days, rest = divmod(seconds, 86_400)
    cycles, day = divmod(shown.toordinal() + days - 1, CYCLE)
    date = datetime.fromordinal(day + 1)
    text = f"{date.year + 400 * cycles:04}-{date:%m-%d}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return text + (f".{fraction:09}".rstrip("0") if fraction else "") + "Z"


def go_duration(ns: int) -> str:
    """``time.Duration.String()``."""
    if ns == 0:
        return "0s"
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    if ns < SECOND:
        for unit, size in (("ms", 10**6), ("\u00b5s", 10**3), ("ns", 1)):
            if ns >= size:
                return f"{sign}{_decimal(ns, size)}{unit}"
    minutes, ns = divmod(ns, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(ns, SECOND)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _decimal(ns: int, size: int) -> str:
    whole, rest = divmod(ns, size)
    return str(whole) if not rest else f"{whole}.{rest:0{len(str(size)) - 1}}".rstrip("0")
