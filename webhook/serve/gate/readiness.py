"""The readiness of a gate: what is missing, what is refused, and whether it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from webhook.serve.gate.state import State
from webhook.serve.trust import Trust

__all__ = ["Need", "Readiness"]

Need = Callable[[], list[str]]
"""Says why a part is not ready; empty if it is."""


class Readiness:
    """Why a gate is not ready, and the faults that it answers with nevertheless.

    A refused part is a newer one that is not used: the last good one stays in use. ``needs`` are further parts that
    must be ready. ``draining`` is set when the server begins to stop.
    """

    def __init__(self, needs: Iterable[Need] = ()) -> None:
        self.needs = list(needs)
        self.trust: Trust | None = None
        self.draining = False
        self._refused: dict[str, str] = {}

    def refuse(self, part: str, why: str) -> None:
        """Record that a newer part is not used."""
        self._refused[part] = why

    def accept(self, part: str) -> None:
        """Record that the newest part is used."""
        self._refused.pop(part, None)

    @property
    def refused(self) -> str:
        """The faults of newer parts; empty if there are none."""
        return "; ".join(self._refused.values())

    def unready(self, state: State) -> list[str]:
        """Why a gate of this state is not ready; empty if it is."""
        reasons = self._missing(state)
        reasons += [reason for need in self.needs for reason in need()]
        if self.trust is not None:
            reasons += self.trust.unready()
        if state.live_view is not None:
            reasons += state.live_view.unready()
        return [*reasons, "stopping: other replicas answer now"] if self.draining else reasons

    def _missing(self, state: State) -> list[str]:
        """Which rules or policies are not loaded, and why."""
        if not state.waiting:
            return [] if state.catalog is not None else ["the catalog of kinds and rules is not loaded"]
        return [self._refused.get(part, f"the {part} are not loaded") for part in sorted(state.waiting)]
