"""Room for the frames of all calls of a thread, in one piece of memory.

CPython keeps frames in pieces of 16 KiB. A call that does not fit into the rest of a piece gets a new one from the
kernel, which goes back when the call returns. Where a loop happens to make its calls at the end of a piece, each takes
a few microseconds more: the same evaluation took 200 µs, or 520, by the depth that it was called at. A piece is as
large as its first frame needs, so a first frame that claims much leaves room for all others. Every thread that judges
objects begins with one: the main thread of a command, and so its children, and the workers of the reconciler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

__all__ = ["with_room"]

P = ParamSpec("P")
T = TypeVar("T")

SLOTS: Final = 40_000
"""Values that the frame claims: 320 KB, for which a piece has 512 KiB. Memory that no frame touches stays virtual."""


def with_room(call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call a function with 190 KiB for the frames of what it calls: more than a thousand frames."""
    return call(*arguments, **named)


with_room.__code__ = with_room.__code__.replace(co_stacksize=SLOTS)
