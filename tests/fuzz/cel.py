"""``python -m tests.fuzz.cel -n N``: random expressions, the generated function against the closures and the oracle.

The two backends must agree on value or error, and the bound of the generated function must not
be less than the cost. With ``--oracle`` the API server's own code must agree, cost included.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from contextlib import nullcontext
from typing import Any

from tests.conformance.cel_describe import describe
from tests.fuzz.expressions import SCHEMA, Expressions, random_object
from tests.fuzz.oracle import Oracle
from webhook.cel.environment import Environment
from webhook.cel.errors import CelError, CompileFailure
from webhook.cel.program import Budget, Program
from webhook.cel.types import DYN

Answer = tuple[str, Any]


class _Bound(Budget):
    """A budget that shows what the generated function said it cost at most."""

    __slots__ = ()

    def bound(self) -> int:
        return self._allowed - self._spent - self.remaining


def answer(program: Program, bindings: dict[str, Any], budget: Budget, *, exactly: bool) -> Answer:
    evaluate = program.evaluate_exactly if exactly else program.evaluate
    try:
        return "value", describe(evaluate(bindings, budget))
    except CelError as error:
        return "error", error.message


def compare(program: Program, bindings: dict[str, Any]) -> str | None:
    """What the backends do not agree on."""
    noted, exact = _Bound(), Budget()
    fast = answer(program, bindings, noted, exactly=False)
    slow = answer(program, bindings, exact, exactly=True)
    if fast != slow:
        return f"generated {fast}, closures {slow}"
    if noted.bound() and noted.bound() < exact.spent:
        return f"bound {noted.bound()}, cost {exact.spent}"
    if noted.spent != exact.spent:
        return f"settled {noted.spent}, cost {exact.spent}"
    return None


def main(argv: list[str] | None = None) -> int:
    """Run, print every disagreement and the counts; 1 on any."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.cel", description=main.__doc__)
    parser.add_argument("-n", type=int, default=10_000, help="expressions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--oracle", action="store_true", help="ask the API server's code, too")
    options = parser.parse_args(argv)
    counts: Counter[str] = Counter()
    with Oracle() if options.oracle else nullcontext() as oracle:
        for number in range(options.n):
            _one(random.Random(options.seed * 1_000_003 + number), options.depth, oracle, counts)
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return 1 if counts["differ"] or counts["oracle differs"] else 0


_TYPED = Environment((1, 37)).extend({"x": DYN}).with_schema("self", SCHEMA)
_UNTYPED = Environment((1, 37)).extend({"x": DYN, "self": DYN})


def _one(rng: random.Random, depth: int, oracle: Oracle | None, counts: Counter[str]) -> None:
    is_typed = rng.random() < 0.7
    source = Expressions(rng).write(rng.choice(["bool", "bool", "int", "string", "list"]), rng.randrange(1, depth + 1))
    bindings = {"self": random_object(rng), "x": random_object(rng) | {"a": rng.choice([1, "a", [1], {"s": 1}, None])}}
    try:
        program = (_TYPED if is_typed else _UNTYPED).compile(source)
    except CompileFailure as failure:
        counts["do not compile"] += 1
        if oracle is not None:
            _check_refused(oracle, source, bindings, is_typed, failure, counts)
        return
    counts["generated" if program.evaluate is not program.evaluate_exactly else "closures only"] += 1
    problem = compare(program, bindings)
    if problem is not None:
        counts["differ"] += 1
        print(f"DIFFER {source}\n  {bindings}\n  {problem}")
    if oracle is not None:
        _check(oracle, source, bindings, is_typed, program, counts)


def _ask(oracle: Oracle, source: str, bindings: dict[str, Any], is_typed: bool) -> dict[str, Any]:
    request: dict[str, Any] = {"mode": "expr", "expr": source, "vars": bindings}
    if is_typed:
        request["schemas"] = {"self": SCHEMA}
    (found,) = oracle.ask([request])
    return found


def _check(
    oracle: Oracle, source: str, bindings: dict[str, Any], is_typed: bool, program: Program, counts: Counter[str]
) -> None:
    found = _ask(oracle, source, bindings, is_typed)
    budget = Budget()
    ours = answer(program, bindings, budget, exactly=True)
    theirs = ("value", found["value"]) if "value" in found else ("error", found.get("error", found))
    cost = found.get("cost", 0)
    # Before 0.30 cel-go evaluated, and charged for, what follows an argument that is an error.
    costs_agree = budget.spent == cost or (budget.spent < cost and _meets_errors(program, bindings))
    if ours == theirs and costs_agree:
        counts["oracle agrees"] += 1
    elif reason := _explained(ours, theirs, source, bindings, program):
        counts[reason] += 1
    else:
        counts["oracle differs"] += 1
        print(f"ORACLE {source}\n  {bindings}\n  theirs {theirs} {cost}\n  ours   {ours} {budget.spent}", flush=True)


def _explained(ours: Answer, theirs: Answer, source: str, bindings: dict[str, Any], program: Program) -> str:
    """Why the answers may differ, "" if no reason is known.

    Go iterates over the keys of a map in random order: the oracle's answer may be ours for another order.
    """
    if "}.map(" in source:
        return "depends on Go's order of keys"
    rng = random.Random(0)
    for _ in range(_ORDERS):
        if answer(program, _shuffled(bindings, rng), Budget(), exactly=True) == theirs:
            return "depends on Go's order of keys"
    if _PANIC.match(str(theirs[1])) and (ours[0] == "error" or _meets_errors(program, bindings)):
        return "panics at an error"
    errors = [str(text) for kind, text in (ours, theirs) if kind == "error"]
    return _KEY_TYPE if len(errors) == 2 and all(text.startswith(_QUALIFIER) for text in errors) else ""


_ORDERS = 2_000
_PANIC = re.compile(r"internal error: interface conversion: \S+ is not traits\.Lister")  # of sortBy, sort, distinct …
_KEY_TYPE = "names the Go type a key happens to have"
_QUALIFIER = "invalid qualifier type: "
"""Followed by ``<nil>`` or ``types.Null``: whether a key was converted before depends on where Go had it from."""


def _shuffled(value: Any, rng: random.Random) -> Any:
    """The value with the keys of its maps in another order."""
    if isinstance(value, dict):
        return {key: _shuffled(value[key], rng) for key in rng.sample([*value], len(value))}
    return value


def _meets_errors(program: Program, bindings: dict[str, Any]) -> bool:
    """Whether an evaluation meets an error, even one that ``||`` absorbs: the generated function has none."""
    noted = _Bound()
    answer(program, bindings, noted, exactly=False)
    return program.evaluate is program.evaluate_exactly or not noted.bound()


def _check_refused(
    oracle: Oracle,
    source: str,
    bindings: dict[str, Any],
    is_typed: bool,
    failure: CompileFailure,
    counts: Counter[str],
) -> None:
    found = _ask(oracle, source, bindings, is_typed)
    if "compileErrors" in found or "programError" in found:
        counts["oracle agrees"] += 1
    else:
        counts["oracle differs"] += 1
        print(f"ORACLE compiles {source}\n  we say {failure}")


if __name__ == "__main__":
    sys.exit(main())
