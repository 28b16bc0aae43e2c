"""Reload rules and policies: compile them aside, then swap them as a whole. A broken set changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from prometheus_client import Counter

from webhook import catalog
from webhook.admission.errors import CatalogError, LoadError, NotReady, Problem
from webhook.catalog import Catalog
from webhook.manifests.folders import Watched
from webhook.serve.gate import Gate

if TYPE_CHECKING:
    from webhook.engine.policyset import PolicySet

log = logging.getLogger("modelgate")

T = TypeVar("T")


class Reloader(Generic[T]):
    """Keeps a part of a gate in sync with folders."""

    def __init__(
        self,
        gate: Gate,
        part: str,
        folders: Sequence[Path],
        load: Callable[[], T],
        use: Callable[[T], None],
        outcomes: Counter,
    ) -> None:
        self._gate = gate
        self._part = part
        self._place = " and ".join(map(str, folders))
        self._watched = Watched(folders, load)
        self._use = use
        self._outcomes = outcomes

    def load(self) -> None:
        """Load for the first time.

        Raises:
            LoadError: with every problem.
        """
        self._swap(self._watched.first())

    def start(self) -> None:
        """Load for the first time; a fault does not end the server.

        It would be restarted again and again, with the same fault. Instead it is not ready, says why in ``/readyz``,
        answers no review, and takes up the files once they are correct.
        """
        try:
            self.load()
        except (LoadError, NotReady, OSError, UnicodeDecodeError) as error:
            if isinstance(error, NotReady):
                self._watched.again()  # policies need rules: try again as soon as these are loaded
            self._refuse(f"the {self._part} in {self._place} cannot be loaded: {error}", first=True)

    def refresh(self) -> None:
        """Check the folders, and use a new set if it is valid."""
        try:
            new = self._watched.changed()
        except NotReady:
            self._watched.again()
        except (LoadError, OSError, UnicodeDecodeError) as error:
            self._refuse(f"the new {self._part} in {self._place} are not used: {error}")
        else:
            if new is not None:
                self._swap(new)

    def _refuse(self, text: str, *, first: bool = False) -> None:
        """Log and report each fault once: the folders are checked every few seconds."""
        if text not in self._gate.readiness.refused:
            self._gate.refuse(self._part, text, first=first)
            self._outcomes.labels("refused").inc()
            log.error("%s", text)
            self._gate.report(f"{self._part.title().replace(' ', '')}Refused", text)

    def _swap(self, new: T) -> None:
        """Swap by one assignment: a request sees either the old set or the new one."""
        self._use(new)
        self._gate.accept(self._part)
        self._outcomes.labels("taken").inc()


def rules(gate: Gate, root: Path | None, packs: Sequence[Path] = ()) -> Reloader[Catalog]:
    """A reloader for the rules: a folder of APIs (None: the built-in ones), and those that are added to it."""
    packs = [*map(catalog.installed_pack, packs)]

    def load() -> Catalog:
        loaded = catalog.load(root, gate.state.options.settings, packs=packs)
        if not loaded.kinds:  # the files may not be mounted yet, and an empty catalog would admit everything
            raise CatalogError([Problem(str(root), "", "no API found")])
        return loaded

    return Reloader(gate, "rules", [*([root] if root else []), *packs], load, gate.use, gate.metrics.reloads)


def admission_policies(gate: Gate, folder: Path) -> Reloader[PolicySet]:
    """A reloader for Kubernetes' own policies: a folder of documents."""
    from webhook.engine import policyset  # noqa: PLC0415 - compiling their language costs 80 ms; only this needs it

    def load() -> PolicySet:
        return policyset.load(folder)

    return Reloader(gate, "admission policies", [folder], load, gate.use_policies, gate.metrics.policy_reloads)
