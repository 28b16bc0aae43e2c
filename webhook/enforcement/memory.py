"""The last good state of each policy: one that cannot be read any more stays as it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from webhook.enforcement.policy import PolicyObject

_SHOWN: Final = 3
"""Problems that are named: a definition that was changed may spoil all objects at once."""


class _Held(NamedTuple):
    """What was read of an object of a ``version``; the policy is the last good one, None if there was none."""

    version: object
    policy: PolicyObject | None
    problem: str


class PolicyMemory:
    """Reads the objects of a cluster; an object is read again when its resourceVersion changes."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], _Held] = {}

    def take(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Read these objects, and forget those that are not among them."""
        before, self._held = self._held, {}
        for obj in objects:
            metadata = obj["metadata"]
            key = obj["kind"], metadata["name"]
            held, version = before.get(key), metadata.get("resourceVersion")
            self._held[key] = held if held is not None and held.version == version else _read(obj, version, held)

    @property
    def policies(self) -> tuple[PolicyObject, ...]:
        return tuple(held.policy for held in self._held.values() if held.policy is not None)

    @property
    def problems(self) -> tuple[str, ...]:
        """Which objects cannot be read, and why."""
        return tuple(held.problem for held in self._held.values() if held.problem)

    @property
    def trouble(self) -> str:
        """The first problems as one text; empty if there are none."""
        problems = self.problems
        more = f" and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        return "; ".join(problems[:_SHOWN]) + more


def _read(obj: Mapping[str, Any], version: object, before: _Held | None) -> _Held:
    try:
        return _Held(version, PolicyObject.read(obj), "")
    except ValueError as error:
        last = None if before is None else before.policy
        what = "its last good state stays in force" if last else "it is not in force"
        return _Held(version, last, f"{obj['kind']} {obj['metadata']['name']} cannot be read, {what}: {error}")
