"""Seven expressions against hand-written Python, cel-python's two runners and both native bindings.

Medians of interleaved rounds, in microseconds, with the ratio to the hand-written function.
Every engine gets the same object as decoded JSON; what cannot run an expression says so.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from tests.bench.report import Row, Table
from webhook.cel.environment import Environment
from webhook.cel.program import Budget
from webhook.cel.types import DYN

ROUNDS = 15
BUDGETED = "ours, typed, budget"
CALLS = {BUDGETED: 10}
"""How often a run of an engine evaluates, if not once."""
TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_CLAIM = _object(name=TEXT, resourceClaimName=TEXT, resourceClaimTemplateName=TEXT)
_CONTAINER = _object(
    name=TEXT,
    image=TEXT,
    resources=_object(limits={"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}),
    securityContext=_object(privileged={"type": "boolean"}),
)
_CLAIMS = [{"name": f"gpu-{i}", "resourceClaimTemplateName": f"template-{i}"} for i in range(16)]
_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "big", "labels": {f"example.com/label-{i}": "x" * 40 for i in range(30)}},
    "spec": {
        "containers": [
            {
                "name": f"server-{i}",
                "image": f"registry.example.com/models/server-{i}@sha256:{'ab' * 32}",
                "args": ["--model", "/models/main", "--port", str(8000 + i), "--max-batch", "32"],
                "resources": {"limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": 1}},
                "securityContext": {"privileged": False, "runAsNonRoot": True},
            }
            for i in range(20)
        ]
    },
}
_PATTERN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")


def _hand_a(v: dict[str, Any]) -> bool:
    self = v["self"]
    return (
        "resourceName" not in self
        or self["resourceName"] == ""
        or "resourceClaims" not in self
        or len(self["resourceClaims"]) == 0
    )


def _hand_b(v: dict[str, Any]) -> bool:
    self = v["self"]
    return len(self) == 0 or all(
        ("resourceClaimName" in c and "resourceClaimTemplateName" not in c)
        or ("resourceClaimName" not in c and "resourceClaimTemplateName" in c)
        for c in self
    )


def _hand_c(v: dict[str, Any]) -> bool:
    image = v["self"]["image"]
    return (
        image.startswith("registry.example.com/")
        and not image.endswith(":latest")
        and "@sha256:" in image
        and len(image) <= 255
    )


def _hand_d(v: dict[str, Any]) -> bool:
    return _PATTERN.search(v["self"]["name"]) is not None


def _hand_e(v: dict[str, Any]) -> bool:
    return all(
        "resources" in c
        and "limits" in c["resources"]
        and "nvidia.com/gpu" in c["resources"]["limits"]
        and c["image"].startswith("registry.example.com/")
        and not ("securityContext" in c and c["securityContext"].get("privileged"))
        for c in v["object"]["spec"]["containers"]
    )


def _hand_f(v: dict[str, Any]) -> bool:
    spec: dict[str, int] = v["self"]["spec"]
    return spec["replicas"] >= spec["minReplicas"] and spec["replicas"] <= spec["maxReplicas"]


def _hand_g(v: dict[str, Any]) -> bool:
    self = v["self"]
    read = datetime.fromisoformat
    return read(self["starts"]) < read("2100-01-01T00:00:00Z") and read(self["ends"]).year < 2100


_IMAGE = f"registry.example.com/models/main@sha256:{'ab' * 32}"

# ruff: noqa: ISC004 - the expressions are long
CASES: dict[str, tuple[str, Callable[[dict[str, Any]], bool], dict[str, Any], dict[str, Any]]] = {
    "a": (
        "!has(self.resourceName) || self.resourceName == '' || !has(self.resourceClaims)"
        " || size(self.resourceClaims) == 0",
        _hand_a,
        {"self": {"resourceName": "nvidia.com/gpu", "count": 1, "resourceClaims": []}},
        {"self": _object(resourceName=TEXT, count=WHOLE, resourceClaims=_list(_CLAIM))},
    ),
    "b": (
        "self.size() == 0 || self.all(c, (has(c.resourceClaimName) && !has(c.resourceClaimTemplateName))"
        " || (!has(c.resourceClaimName) && has(c.resourceClaimTemplateName)))",
        _hand_b,
        {"self": _CLAIMS},
        {"self": _list(_CLAIM)},
    ),
    "c": (
        "self.image.startsWith('registry.example.com/') && !self.image.endsWith(':latest')"
        " && self.image.contains('@sha256:') && self.image.size() <= 255",
        _hand_c,
        {"self": {"image": _IMAGE}},
        {"self": _object(image=TEXT)},
    ),
    "d": (
        "self.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        _hand_d,
        {"self": {"name": "llama-3-1-70b-instruct"}},
        {"self": _object(name=TEXT)},
    ),
    "e": (
        "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits)"
        " && 'nvidia.com/gpu' in c.resources.limits && c.image.startsWith('registry.example.com/')"
        " && !(has(c.securityContext) && has(c.securityContext.privileged) && c.securityContext.privileged))",
        _hand_e,
        {"object": _POD},
        {"object": _object(spec=_object(containers=_list(_CONTAINER)))},
    ),
    "f": (
        "self.spec.replicas >= self.spec.minReplicas && self.spec.replicas <= self.spec.maxReplicas",
        _hand_f,
        {"self": {"spec": {"replicas": 3, "minReplicas": 1, "maxReplicas": 8}}},
        {"self": _object(spec=_object(replicas=WHOLE, minReplicas=WHOLE, maxReplicas=WHOLE))},
    ),
    "g": (
        "timestamp(self.starts) < timestamp('2100-01-01T00:00:00Z') && timestamp(self.ends).getFullYear() < 2100",
        _hand_g,
        {"self": {"starts": "2026-05-01T10:00:00Z", "ends": "2027-05-01T10:00:00Z"}},
        {"self": _object(starts=TEXT, ends=TEXT)},
    ),
}

Runner = Callable[[], Any]


def _typed(schemas: dict[str, Any]) -> Environment:
    env = Environment()
    for name, schema in schemas.items():
        env = env.with_schema(name, schema)
    return env


def _engines(source: str, hand: Callable[..., Any], data: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Runner]:
    typed = _typed(schemas).compile(source)
    plain = Environment().extend(dict.fromkeys(data, DYN)).compile(source)
    evaluate = typed.evaluate  # a function, as the others are
    engines: dict[str, Runner] = {
        "hand-written": lambda: hand(data),
        "ours, typed": lambda: evaluate(data),
        BUDGETED: _with_budget(typed, data),
        "ours, dyn": lambda: plain.evaluate(data),
        "ours, closures": lambda: typed.evaluate_exactly(data),
    }
    for maker in (_cel_python, _cel_expr_python, _rust):
        engines |= maker(source, data)
    return engines


def _with_budget(program: Any, data: dict[str, Any]) -> Runner:
    """Ten rules of one node to a budget, as :class:`webhook.schema.rules.run.RuleRun` runs them."""
    count = CALLS[BUDGETED]

    def run() -> Any:
        budget = Budget()
        return all(program.evaluate(data, budget) is True for _ in range(count))

    return run


def _cel_python(source: str, data: dict[str, Any]) -> dict[str, Runner]:
    try:
        import celpy  # noqa: PLC0415 - each engine is optional
        from celpy.adapter import json_to_cel  # noqa: PLC0415
        from celpy.celparser import CELParser  # noqa: PLC0415
    except ImportError:
        return {}
    values = {name: json_to_cel(value) for name, value in data.items()}
    runners: dict[str, Runner] = {}
    for name, kind in (
        ("cel-python interpreted", celpy.InterpretedRunner),
        ("cel-python compiled", celpy.CompiledRunner),
    ):
        CELParser.CEL_PARSER = None  # a singleton that the first environment fixes
        env = celpy.Environment(runner_class=kind)
        program = env.program(env.compile(source))
        runners[name] = partial(program.evaluate, values)
    return runners


def _cel_expr_python(source: str, data: dict[str, Any]) -> dict[str, Runner]:
    try:
        from cel_expr_python import cel  # noqa: PLC0415
    except ImportError:
        return {}
    env = cel.NewEnv(variables=dict.fromkeys(data, cel.Type.DYN))
    compiled = env.compile(source)
    return {"cel-expr-python": lambda: compiled.eval(data=data).value()}


def _rust(source: str, data: dict[str, Any]) -> dict[str, Runner]:
    try:
        import cel  # noqa: PLC0415
    except ImportError:
        return {}
    program = cel.compile(source)
    return {"common-expression-language": lambda: program.execute(data)}


def _measure(engines: dict[str, Runner], rounds: int) -> dict[str, list[float] | str]:
    results: dict[str, str] = {}
    counts = {}
    for name, run in engines.items():
        try:
            value = run()
        except Exception as error:  # noqa: BLE001 - an engine that fails is a result
            results[name] = type(error).__name__
            continue
        if bool(value) is not True:
            results[name] = f"wrong ({value})"
            continue
        began = time.thread_time()
        run()
        counts[name] = max(3, min(20_000, int(0.004 / (time.thread_time() - began))))
    samples: dict[str, list[float]] = {name: [] for name in counts}
    for _ in range(rounds):
        for name, count in counts.items():
            run = engines[name]
            began = time.thread_time()
            for _ in range(count):
                run()
            samples[name].append((time.thread_time() - began) / count / CALLS.get(name, 1) * 1e6)
    return {name: results.get(name) or samples[name] for name in engines}


def tables(*, quick: bool = False) -> list[Table]:
    """Microseconds of each engine for each expression, and what compiling costs."""
    names = [f"({key}) µs" for key in CASES]
    gc.disable()
    found = [_measure(_engines(*case), 2 if quick else ROUNDS) for case in CASES.values()]
    gc.enable()
    table = Table(
        "CEL", "Seven expressions, (g) with two times and a year of one; CPU time of one evaluation, warm.", names
    )
    for engine in dict.fromkeys(name for results in found for name in results):
        cells = {name: results[engine] for name, results in zip(names, found, strict=True) if engine in results}
        table.rows.append(Row(engine, cells))
    return [table, _compiling(names)]


def _compiling(names: list[str]) -> Table:
    compiling = Table("CEL: compiling", "One of these expressions: time to check and compile, and memory.", names)
    times: dict[str, list[float]] = {}
    sizes: dict[str, list[float]] = {}
    for name, (source, _, _, schemas) in zip(names, CASES.values(), strict=True):
        env = _typed(schemas)
        began = time.thread_time()
        programs = [env.compile(source) for _ in range(50)]
        times[name] = [(time.thread_time() - began) / len(programs) * 1e6]
        sizes[name] = [_kilobytes(programs)]
    compiling.rows.extend([Row("check and compile, µs", times), Row("memory of a program, KiB", sizes)])
    return compiling


def _kilobytes(programs: list[Any]) -> float:
    import tracemalloc  # noqa: PLC0415 - slows everything down once it runs

    source = programs[0].source
    del programs
    key = next(key for key, case in CASES.items() if case[0] == source)
    env = _typed(CASES[key][3])
    env.compile(source)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [env.compile(source) for _ in range(20)]
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return used / len(kept) / 1024
