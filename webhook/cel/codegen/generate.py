"""The fast backend: an expression as one generated Python function over native JSON.

The function is *optimistic*: every form that is emitted either has CEL's value or raises,
and whatever it raises, the closures evaluate the expression again and decide. So nothing here
absorbs errors or words messages. Costs are bounded, not counted: constants are summed when the
source is written, loops and long strings are subtracted from an allowance ``b`` as they are met.
An evaluation whose bound fits its budget would have fitted exactly.

No text of the user's gets into the source: literals are written by ``repr``, names are our own.
A value read from under a schema is checked where its class matters, once on each path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from webhook.cel.codegen.code import Code, Unsupported, render
from webhook.cel.codegen.runtime import GLOBALS
from webhook.cel.codegen.writer import Writer
from webhook.cel.errors import CelError
from webhook.cel.types import BOOL

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function
    from webhook.cel.values.nodes import Node

__all__ = ["LIMIT", "Fast", "Generated", "generate"]

LIMIT: Final = 1_000_000
"""What a call may cost; a budget that allows less than a bound has it counted exactly."""


class Exact(Protocol):
    """The closures: what decides when the generated function cannot."""

    def __call__(self, bindings: Mapping[str, Any], budget: Any, /) -> Any: ...


Fast = Callable[..., Any]


class Generated(NamedTuple):
    """The function of an expression, and its ``bound``: what it costs at most, None if that depends on the values.

    ``evaluate`` takes what :meth:`Program.evaluate` takes. ``attempt`` takes bindings alone, and
    gives None where only the closures can decide; then the bound says nothing.
    """

    evaluate: Fast
    attempt: Fast
    bound: int | None


def generate(
    checked: Checked, functions: Mapping[str, Function], nodes: Mapping[str, Node], exact: Exact
) -> Generated | None:
    """The function of an expression, which calls ``exact`` where it must; None if only the closures can do it."""
    writer = Writer(checked, functions, nodes)
    try:
        result = writer.value(writer.expr(checked.expr))
        writer.line(f"r = {_tested(result)}")
        make = _compiled(_source(writer))
    except (CelError, Unsupported, RecursionError, SyntaxError, MemoryError):
        return None  # a CelError: what it takes for constant fails, and only an evaluation may say so
    if writer.cost > LIMIT:
        return None
    bound = None if writer.is_metered else writer.cost
    return Generated(make(exact, *writer.constants), make(_undecided, *writer.constants), bound)


def _undecided(_bindings: Mapping[str, Any], _budget: Any) -> None:
    return None


def _tested(result: Code) -> str:
    """A Boolean as a test that jumps: comparisons take CPython 3.11 half the time where nobody keeps their value."""
    jumps = result.of == BOOL and not result.is_name
    return f"True if {result.text} else False" if jumps else result.text


def _source(writer: Writer) -> str:
    """The function; ``b`` is what the call may still cost, and ``n`` the budget, from which the bound is taken."""
    arguments = "".join(f", k{index}" for index in range(len(writer.constants)))
    lines = [f"def make(exact{arguments}):", " def run(V, n=None):", "  try:"]
    if writer.is_interruptible:
        lines.append("   i = None if n is None else n.interrupt")
    if writer.is_metered:
        lines.append(f"   b = {LIMIT - writer.cost}")
        writer.line("if b < 0: raise E")
    render(writer.block, 3, lines)
    bound = f"{LIMIT} - b" if writer.is_metered else str(writer.cost)
    lines += [
        "  except Exception: return exact(V, n)",
        "  if n is not None:",
        f"   left = n.left - ({bound})",
        f"   if left < 0: return r if n.note(exact, V, {bound}) else exact(V, n)",
        "   n.left = left",
        "   n.noted.append((exact, V))",
        "  return r",
        " return run",
    ]
    return "\n".join(lines)


def _compiled(source: str) -> Callable[..., Fast]:
    scope: dict[str, Any] = {}
    exec(compile(source, "<cel>", "exec"), GLOBALS, scope)  # noqa: S102 - our own text, see above
    make: Callable[..., Fast] = scope["make"]
    return make
