"""Run the tests of a room against each of its mutants, and tell which survive.

All modules and tests are imported once. A child process, made by ``fork``, then has the code of one function exchanged,
and runs the tests that execute its line. The values that a module has at its top are exchanged wherever they are
imported. What a class has is neither: there the child imports everything anew, with the changed module.
"""

from __future__ import annotations

import ast
import contextlib
import os
import pickle
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.mutate import MODULE, Mutant
from tests.mutants.templates import TemplateMutant, template_in_use

KILLED: Final = "killed"
SURVIVED: Final = "survived"
UNREACHED: Final = "no test reaches it"
PATIENCE: Final = 5
"""How many times as long as without a mutant the tests may take, beside :data:`LEAST`."""
LEAST: Final = 20.0
"""Seconds."""
MEMORY: Final = 4 * 2**30
"""Bytes."""
DAY: Final = 86400.0
_TRANSPARENT: Final = frozenset(
    {"property", "cached_property", "classmethod", "staticmethod", "contextlib.contextmanager", "rule", "list_rule"}
)
"""Decorators whose function's own code is what is called; the last two, of Kubernetes' rules, only register it."""

Line = tuple[str, int]
Tell = Callable[[Mutant, str], None]


def _nothing(_mutant: Mutant, _word: str) -> None:
    pass


@dataclass(frozen=True)
class Reach:
    """The lines that a test executes, and the seconds that it takes."""

    lines: frozenset[Line]
    seconds: float


class Runner:
    """A plugin of pytest that runs the collected tests against mutants, instead of as they are."""

    def __init__(self, found: Sequence[Mutant], tell: Tell, jobs: int, note: Tell) -> None:
        self._mutants, self._tell, self._jobs, self._note = found, tell, jobs, note
        self.problem = ""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        files = {str(mutant.path.resolve()) for mutant in self._mutants}
        for name in {_module_name(mutant.path) for mutant in self._mutants if not _is_anew(mutant)}:
            import_module(name)  # a test may be what imports it first
        reaches = _in_child(lambda: _reaches(session.items, files), 3600)
        if not isinstance(reaches, list):
            self.problem = f"the tests do not pass without a mutant: {reaches}"
            return True
        every = set().union(*(reach.lines for reach in reaches))

        def verdict(mutant: Mutant) -> str:
            lines = _lines(mutant, every)
            reached = [i for i, reach in enumerate(reaches) if lines & reach.lines]
            # Where the stack overflows, Python ends the tracing, and misses the lines that follow.
            is_certain = bool(reached)
            reached = reached or [i for i, reach in enumerate(reaches) if _lines_of_function(mutant) & reach.lines]
            # What only a forked child executes is not traced: any test of the module may be what has forked it.
            file = str(mutant.path.resolve())
            reached = reached or [i for i, reach in enumerate(reaches) if any(line[0] == file for line in reach.lines)]
            if not reached:
                return UNREACHED
            seconds = LEAST + PATIENCE * sum(reaches[i].seconds for i in reached)
            items = [session.items[i] for i in sorted(reached, key=lambda i: reaches[i].seconds)]
            word = _verdict(_in_child(lambda: _exchanged(mutant, items), seconds))
            return UNREACHED if word == SURVIVED and not is_certain else word

        exchanged = [mutant for mutant in self._mutants if not _is_anew(mutant)]
        _tell_verdicts(exchanged, _noting(verdict, self._note), self._tell, self._jobs)
        return True


def run(found: Sequence[Mutant], tests: Sequence[str], tell: Tell, jobs: int = 1, note: Tell = _nothing) -> str:
    """Run ``tests`` against each mutant, ``jobs`` at a time; ``tell`` is called with each verdict, and must not print.
    ``note`` is called with it at once, in another process. The result is a problem, or "".

    The mutants of what classes have come first, while none of these modules is imported.
    """

    def verdict(mutant: Mutant) -> str:
        return _verdict(_in_child(lambda: _anew(mutant, tests), 10 * LEAST))

    _tell_verdicts([mutant for mutant in found if _is_anew(mutant)], _noting(verdict, note), tell, jobs)
    if all(map(_is_anew, found)):
        return ""
    runner = Runner(found, tell, jobs, note)
    with _quiet():
        code = pytest.main([*_OPTIONS, *tests], plugins=[runner])
    return runner.problem or ("" if code is pytest.ExitCode.OK else f"pytest ends with {code!r}")


def _noting(verdict: Callable[[Mutant], str], note: Tell) -> Callable[[Mutant], str]:
    def noted(mutant: Mutant) -> str:
        word = verdict(mutant)
        note(mutant, word)
        return word

    return noted


def _tell_verdicts(found: Sequence[Mutant], verdict: Callable[[Mutant], str], tell: Tell, jobs: int) -> None:
    """Share the mutants among ``jobs`` children, each of which forks for one after the other."""
    shares = [found[i::jobs] for i in range(jobs)]
    started = [_start(lambda of=share: [*map(verdict, of)], DAY) for share in shares]
    for share, end in zip(shares, started, strict=True):
        for mutant, word in zip(share, end(), strict=True):
            tell(mutant, word)


def _is_anew(mutant: Mutant) -> bool:
    """Whether the tests must import everything anew: it is in what a class has, or a decorator has made something,
    or it is a template of the chart.
    """
    return mutant.path.suffix != ".py" or (mutant.function != MODULE and not _is_exchangeable(mutant))


_OPTIONS: Final = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=quick")


def _verdict(outcome: object) -> str:
    """A text is why the tests were not run."""
    return outcome if isinstance(outcome, str) else SURVIVED if outcome is True else KILLED


def _is_exchangeable(mutant: Mutant) -> bool:
    """Whether it is in the code of a function."""
    node = _function(mutant)
    return node is not None and not _is_generic(node)


def _lines_of_function(mutant: Mutant) -> set[Line]:
    node = _function(mutant)
    if node is None:
        return set()
    return {(str(mutant.path.resolve()), line) for line in range(node.lineno, (node.end_lineno or 0) + 1)}


def _function(mutant: Mutant) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The outermost function that a mutant is in."""
    node: Any = ast.parse(mutant.path.read_text())
    for name in mutant.function.split("."):
        named = (each for each in ast.walk(node) if getattr(each, "name", "") == name)
        node = next(named, None)
        if node is None or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return node
    return None


def _is_generic(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether other code than the function's own is called: a decorator has made something of it."""
    names = {ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list}
    return not names <= _TRANSPARENT


def _lines(mutant: Mutant, every: set[Line]) -> set[Line]:
    """The line of a mutant; of a value at the top, all lines of its module that a test executes."""
    file = str(mutant.path.resolve())
    if mutant.function == MODULE:
        return {line for line in every if line[0] == file}
    return {(file, mutant.line)} & every


def _reaches(items: Sequence[pytest.Item], files: set[str]) -> list[Reach] | str:
    """What each test executes of the files. What a fixture of several tests executes counts for the first of them."""
    hit: set[Line] = set()

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            hit.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def begin(frame: FrameType, _: str, __: Any) -> Any:
        return local if frame.f_code.co_filename in files else None

    threading.settrace(begin)
    reaches: list[Reach] = []
    for item, following in zip(items, (*items[1:], None), strict=True):
        hit.clear()
        sys.settrace(begin)  # anew: Python forgets it where the room for frames ends
        started = time.monotonic()
        reports = runtestprotocol(item, log=False, nextitem=following)
        if bad := next((report for report in reports if report.failed), None):
            return f"{item.nodeid}: {bad.longreprtext[-800:]}"
        reaches.append(Reach(frozenset(hit), time.monotonic() - started))
    return reaches


def _exchanged(mutant: Mutant, items: Sequence[pytest.Item]) -> bool | str:
    """Whether the tests pass with the code of the function exchanged, or the values of the module."""
    module = sys.modules[_module_name(mutant.path)]
    changed = compile(mutant.tree(), str(mutant.path.resolve()), "exec")
    if mutant.function == MODULE:
        _exchange_values(module, changed)
        return _all_pass(items)
    code, target = changed, module
    for name in mutant.function.split("."):
        code = next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)
        target = _member(target, name)
        if isinstance(target, FunctionType):
            target.__code__ = code
            return _all_pass(items)
    return "its function is not there"


def _exchange_values(module: ModuleType, changed: CodeType) -> None:
    """Give all who have a value of the module the one that it has after the change."""
    anew = ModuleType(module.__name__)
    anew.__file__, anew.__package__ = module.__file__, module.__package__
    exec(changed, vars(anew))
    for name, new in vars(anew).items():
        old = vars(module).get(name)
        if name.startswith("__") or old is None or isinstance(old, type | FunctionType | ModuleType):
            continue
        is_scalar = isinstance(old, bool | int | float | str)  # the same object as others that mean something else
        for each in [*sys.modules.values()]:
            for other, value in [*vars(each).items()]:
                if value is old and (other == name or not is_scalar):
                    setattr(each, other, new)


def _member(of: Any, name: str) -> Any:
    value = vars(of)[name]
    for attribute in ("fget", "func", "__func__", "__wrapped__"):
        value = getattr(value, attribute, value)
    return value


def _module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts if not path.is_absolute() else (path.stem,))


def _all_pass(items: Sequence[pytest.Item]) -> bool:
    for item, following in zip(items, (*items[1:], None), strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return False
    return True


def _anew(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Whether the tests pass in a process that imports the changed module."""
    if isinstance(mutant, TemplateMutant):
        with template_in_use(mutant):
            return pytest.main([*_OPTIONS, *tests]) is pytest.ExitCode.OK
    sys.meta_path.insert(0, _Changed(_module_name(mutant.path), mutant))
    return pytest.main([*_OPTIONS, *tests]) is pytest.ExitCode.OK


class _Changed(MetaPathFinder, Loader):
    """Imports one module from its changed tree."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        self._name, self._mutant = name, mutant

    def find_spec(self, fullname: str, _path: Any, _target: Any = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        file = self._mutant.path.resolve()
        return spec_from_file_location(fullname, file, loader=self)

    def create_module(self, _spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._mutant.tree(), str(self._mutant.path.resolve()), "exec"), vars(module))


def _in_child(job: Callable[[], Any], seconds: float) -> Any:
    """The result of a job in a child of its own; None if that ends otherwise, or not in time."""
    return _start(job, seconds)()


def _start(job: Callable[[], Any], seconds: float) -> Callable[[], Any]:
    """Start a job in a child of its own; the function that waits for its result."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read_end)
        os.setpgid(0, 0)
        _bound_memory()
        with _quiet(), contextlib.suppress(BaseException):
            result = pickle.dumps(job())
            with os.fdopen(write_end, "wb") as pipe:
                pipe.write(result)
        os._exit(0)
    os.close(write_end)
    timer = threading.Timer(seconds, os.kill, (pid, signal.SIGKILL))
    timer.start()

    def end() -> Any:
        with os.fdopen(read_end, "rb") as pipe:
            received = pipe.read()
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return pickle.loads(received) if received else None

    return end


def _bound_memory() -> None:
    """At most :data:`MEMORY` more than the process has: that of a test may be large, and could start no thread else."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = held + MEMORY if hard == resource.RLIM_INFINITY else min(hard, held + MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Nothing of what is written to standard output and error reaches a reader."""
    kept = os.dup(1), os.dup(2)
    with Path(os.devnull).open("w") as nothing:
        sys.stdout.flush()
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
