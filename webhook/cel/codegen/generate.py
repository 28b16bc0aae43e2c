"""The fast backend: an expression as one generated Python function over native JSON.

The function is *optimistic*: every form either has CEL's value or raises, and after any exception
the interpreter evaluates the expression again and decides. So no form absorbs errors or words
messages. Costs are bounded, not counted: constants are summed when the source is written; loops
and long strings are subtracted at run time from an allowance ``b``. If the bound fits the budget,
the exact cost fits too.

The source contains no text of users: ``repr`` writes the literals, and all names are generated.
A value read from under a schema is checked where its class matters, once on each path.

The text of a function is not kept. For tracebacks, profilers and debuggers, ``linecache`` gets a loader for each
function, which writes the text again when a line of it is asked for. The loader refers weakly to what can write it, so
that an entry lives no longer than its function.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from webhook.cel.codegen import calls, comprehensions, members
from webhook.cel.codegen.code import Code, Unsupported, render
from webhook.cel.codegen.runtime import GLOBALS
from webhook.cel.codegen.writer import Forms, Writer
from webhook.cel.errors import CelError
from webhook.cel.syntax.ast import Call, Comprehension, Const, Ident, ListExpr, MapExpr, Select, StructExpr
from webhook.cel.types import BOOL

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function
    from webhook.cel.values.nodes import Node

FORMS: Final[Forms] = {
    Const: members.write_const,
    Ident: members.write_ident,
    Select: members.write_select,
    Call: calls.write_call,
    ListExpr: members.write_list,
    MapExpr: members.write_map,
    StructExpr: members.unsupported,
    Comprehension: comprehensions.write_comprehension,
}
"""The function that writes each kind of expression."""

LIMIT: Final = 1_000_000
"""What a call may cost. With a budget that allows less than the bound, the interpreter counts the exact cost."""

_FUNCTION: Final = """\
# V: the bindings. n: the budget, or None. i: its interrupt. b: what the call may still cost. r: the result.
# E: raised where only the interpreter is exact. A: an absent value. IS: the classes int and str.
# t0, t1, ...: values. k0, k1, ...: constants. exact: the interpreter.
def make({parameters}):
 def run(V, n=None):
  try:
{body}
  except Exception: return exact(V, n)
  if n is not None:
   left = n.left - ({bound})
   if left < 0: return r if n.note(exact, V, {bound}) else exact(V, n)
   n.left = left
   n.noted.append((exact, V))
  return r
 return run
"""


class Exact(Protocol):
    """The interpreter, which decides where the generated function cannot."""

    def __call__(self, bindings: Mapping[str, Any], budget: Any, /) -> Any: ...


Fast = Callable[..., Any]


class Source(NamedTuple):
    """A function as text, the ``constants`` k0, k1, … it is made with, and what it costs at most.

    ``bound`` is None if that depends on the values.
    """

    text: str
    constants: tuple[Any, ...]
    bound: int | None


def generate(
    checked: Checked, functions: Mapping[str, Function], nodes: Mapping[str, Node], exact: Exact, file: str
) -> Fast | None:
    """The function of an expression, compiled under a file name; None if it has no generated form.

    The function calls ``exact`` where only the interpreter can decide.
    """
    try:
        source = write(checked, functions, nodes)
        if source is None:
            return None
        make = made(source.text, file)
    except (RecursionError, SyntaxError, MemoryError):
        return None
    return make(exact, *source.constants)


def write(checked: Checked, functions: Mapping[str, Function], nodes: Mapping[str, Node]) -> Source | None:
    """The source of an expression's function; None if it has no generated form."""
    writer = Writer(checked, functions, nodes, FORMS)
    try:
        result = writer.value(writer.expr(checked.expr))
        writer.line(f"r = {_tested(result)}")
    except (CelError, Unsupported):  # a CelError: a constant part fails, which only an evaluation may report
        return None
    if writer.cost > LIMIT:
        return None
    return Source(_text(writer), tuple(writer.constants), None if writer.is_metered else writer.cost)


def _tested(result: Code) -> str:
    """A Boolean as a jump: CPython 3.11 evaluates a comparison twice as fast where its value is not kept."""
    jumps = result.of == BOOL and not result.is_name
    return f"True if {result.text} else False" if jumps else result.text


def _text(writer: Writer) -> str:
    body = []
    if writer.is_interruptible:
        body.append("   i = None if n is None else n.interrupt")
    if writer.is_metered:
        body.append(f"   b = {LIMIT - writer.cost}")
        writer.line("if b < 0: raise E")
    render(writer.block, 3, body)
    return _FUNCTION.format(
        parameters=", ".join(("exact", *(f"k{index}" for index in range(len(writer.constants))))),
        body="\n".join(body),
        bound=f"{LIMIT} - b" if writer.is_metered else writer.cost,
    )


def made(text: str, file: str) -> Callable[..., Fast]:
    """The function ``make`` of a generated source, compiled under a file name."""
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), GLOBALS, scope)  # noqa: S102 - it contains no text of users, see above
    make: Callable[..., Fast] = scope["make"]
    return make


def defined(text: str, file: str, constants: Sequence[object]) -> Any:
    """The function ``run`` of a generated source, compiled under a file name. Its ``constants`` are the global names
    k0, k1 and so on: a closure of a hundred would be taken up anew at each call.
    """
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - as in made
    return bound(scope["run"].__code__, tuple(constants))


def bound(code: CodeType, constants: tuple[object, ...]) -> FunctionType:
    """The function of a code with these constants."""
    run = FunctionType(code, {**GLOBALS, **{f"k{index}": value for index, value in enumerate(constants)}})
    vars(run)["__reduced__"] = (bound, (code, constants))  # how it is pickled
    return run


_LENGTH: Final = 100
"""Characters of a name: more only makes a traceback hard to read."""


class Written(Protocol):
    """Can write the source of its function again."""

    def text(self) -> str | None: ...


def file_name(name: str) -> str:
    """The file name of the function called ``name``, in tracebacks: ``<cel> LK205 spec.source rule``.

    It does not end with ``>``: ``linecache`` takes ``<…>`` for a function without a source.
    """
    line = " ".join(name.split())
    shown = line if len(line) <= _LENGTH else f"{line[: _LENGTH - 1]}…"
    if not shown.isprintable():
        shown = "".join(char if char.isprintable() else "?" for char in shown)
    return f"<cel> {shown.rstrip(' >')}"


def register(file: str, written: Written) -> None:
    """Let ``linecache`` find the source of a function by its file name while ``written`` lives."""
    linecache.cache[file] = (_Loader(file, written),)


class _Loader:
    """What ``linecache`` calls when a line of the source is asked for."""

    __slots__ = ("_written",)

    def __init__(self, file: str, written: Written) -> None:
        self._written = weakref.ref(written, partial(_forget, linecache.cache, file))

    def __call__(self) -> str | None:
        written = self._written()
        return None if written is None else written.text()

    def loads(self, reference: object) -> bool:
        return self._written is reference


def _forget(cache: dict[str, Any], file: str, reference: object) -> None:
    """Remove the entry of a function that is gone, unless another function of the same name has replaced it.

    An entry that was loaded stays, as those of modules do.
    """
    entry = cache.get(file)
    if entry is not None and len(entry) == 1 and entry[0].loads(reference):
        del cache[file]
