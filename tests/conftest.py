"""Settings of every test."""

import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from hashlib import blake2b
from importlib.resources.abc import Traversable
from pathlib import Path

import orjson
import pytest
from blockbuster import blockbuster_ctx
from hypothesis import settings

from tests.laws import QUICK
from webhook import catalog
from webhook.catalog import KnownKind, folders, releases
from webhook.catalog.kinds import PolicySource
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.policy import Policy

# A property is a law, not a race: an example may be slow on a machine that does other things.
settings.register_profile("modelgate", deadline=None)
settings.register_profile(QUICK, deadline=None, max_examples=20)  # make check
settings.load_profile("modelgate")

load = partial(catalog.load, shipped=Path(os.devnull))
"""It compiles: what a checkout has compiled before is not tested."""


@cache
def installed(chosen: Settings) -> catalog.Catalog:
    return load(None, chosen)


def load_once(
    root: Traversable | None = None, settings: Settings = DEFAULT_SETTINGS, packs: Iterable[Path] = ()
) -> catalog.Catalog:
    """Load the installed catalog once per process, as the server does; it is immutable."""
    more = tuple(packs)
    return installed(settings) if root is None and not more else load(root, settings, packs=more)


catalog.load = load_once

compile_source = releases.compiled_source
compiled: dict[bytes, Policy] = {}


def compile_once(known: KnownKind, source: PolicySource, *, on_demand: bool = False) -> Policy:  # noqa: ARG001 - for all
    """Compile a policy once per process for equal texts, definitions and ranges that hold: many tests load the shipped
    ones again, under another release or from another folder. A policy is immutable, and one with problems is not kept.
    """
    facts, holds = {name: fact.schema for name, fact in known.own_facts.items()}, known.in_force.holds
    spec = source.document.spec
    parts = (*spec.variables, *spec.rules, *spec.children)
    held = sorted({each.operator for each in parts if each.operator and holds(each.operator)})
    around = {name: variable.source for name, variable in known.policy.variables.items()}  # which it may read
    beside = [other.raw for other in source.beside]
    given = (source.origin.value, known.schema.raw, facts, known.pack.facts, held, beside)
    key = orjson.dumps((type(source.document).__name__, str(known.gvk), around, *given), default=str)
    digest = blake2b(key).digest()
    if digest not in compiled:
        compiled[digest] = compile_source(known, source)
    return compiled[digest]


releases.compiled_source = folders.compiled_source = compile_once


def pytest_collection_finish() -> None:
    """Look for garbage as the server does: not again and again among what lives as long as the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session")
def loaded() -> catalog.Catalog:
    """The installed catalog."""
    return catalog.load()


@pytest.fixture(scope="session")
def load_anew() -> Callable[..., catalog.Catalog]:
    """The function that loads a catalog, whatever was loaded before."""
    return load


@pytest.fixture(scope="session")
def compile_anew() -> Callable[..., Policy]:
    """The function that compiles a policy, whatever was compiled before: one that has run may not be pickled."""
    return compile_source


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Programs that tests start heed SIGINT, also where a shell runs pytest in the background, with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def nothing_blocks() -> Iterator[None]:
    """What would hold up the event loop of a gate in this process (a file, a socket, a sleep, a lock) is an error."""
    with blockbuster_ctx("webhook"):
        yield
