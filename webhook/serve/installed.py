"""Follow the definitions that are installed in the cluster, and judge by those that differ from Modelgate's."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from webhook.admission.errors import NotReady
from webhook.cluster import DEFINITIONS, READ_SECONDS, WATCHED_AGAIN, ApiError, Definitions, Key, Reader, Reflector
from webhook.serve.gate import Gate
from webhook.serve.polling import Lookout

log = logging.getLogger("modelgate")

SECONDS: Final = 10.0
"""Between two looks without a watch: a look costs 19 small requests."""


class InstalledDefinitions:
    """Tells a gate the definitions of its kinds. ``connect`` raises NotReady if it is not possible yet.

    The gate is not ready before the first look, because it may refuse what is valid, and the rules of the kinds that
    are installed are compiled by it. ``settle`` is called after that. If it is not allowed to read definitions, it
    judges all kinds by its own and says so. A watch of their metadata tells when to look again; if it is not
    allowed to watch, it looks every SECONDS.
    """

    def __init__(self, gate: Gate, connect: Callable[[], Reader], settle: Callable[[], object] = lambda: None) -> None:
        self._gate = gate
        self._connect = connect
        self._settle = settle
        self._api: Reader | None = None
        self._definitions: Definitions | None = None
        self._reflector: Reflector | None = None
        self._lookout = Lookout("definitions", "the installed definitions", self._next)
        self._trouble = "the installed definitions are not read yet"
        self._looked = False
        self.appeared: Callable[[str], object] = lambda _name: None
        """Told the name of each definition that the watch reports."""

    def silence(self) -> float:
        """Seconds since the last event of the watch; infinite without one."""
        silence = self._reflector.silence() if self._reflector is not None else None
        return math.inf if silence is None else silence

    def unready(self) -> list[str]:
        """Why the definitions are not known; empty after the first look."""
        return [] if self._looked else [self._trouble]

    def look(self) -> None:
        """Look once, and tell the gate what has changed."""
        try:
            self._look()
        except (ApiError, NotReady) as error:
            text = f"the installed definitions cannot be read: {error}"
            forbidden = isinstance(error, ApiError) and error.denied
            if text != self._trouble:
                log.warning("%s%s", text, "; Modelgate judges by its own" if forbidden else "")
            self._trouble = text
            if forbidden or self._looked:
                self._gate.refuse("installed definitions", text)
            if forbidden and not self._looked:
                self._gate.replace(installed=None)
                self._begin()
        else:
            before, self._trouble = self._trouble, self._definitions.trouble if self._definitions else ""
            if not self._trouble:
                self._gate.accept("installed definitions")
            elif self._trouble != before:
                log.warning("%s; Modelgate judges these kinds by its own", self._trouble)
                self._gate.refuse("installed definitions", self._trouble)
            self._begin()

    def following(self) -> AbstractAsyncContextManager[None]:
        """Look at once, and then at each change, while the context lasts."""
        return self._lookout.running(self._stop)

    def _begin(self) -> None:
        """Let the gate be ready, after the first look."""
        if not self._looked:
            self._settle()
            self._looked = True

    def _look(self) -> None:
        if self._definitions is None:
            self._api = self._connect()
            self._definitions = Definitions(self._api)
        own, further = map(sorted, self._gate.state.definition_names())
        if self._definitions.refresh(own, READ_SECONDS, further):
            there = self._definitions
            self._gate.use_definitions(there.documents, there.installed, there.absent)

    def _next(self) -> float:
        """Look, and begin to watch, if there is a connection now."""
        self.look()
        if self._reflector is None and self._api is not None and not self._lookout.ended.is_set():
            self._reflector = Reflector(self._api, DEFINITIONS, self._changed, self._changed, metadata_only=True)
            threading.Thread(target=self._reflector.run, name="definitions-watch", daemon=True).start()
        return WATCHED_AGAIN if self._watched() and not self._trouble else SECONDS

    def _watched(self) -> bool:
        return self._reflector is not None and self._reflector.listed.is_set() and not self._reflector.trouble

    def _changed(self, key: Key, _: object = None) -> None:
        self.appeared(key.name)
        if any(key.name in names for names in self._gate.state.definition_names()):
            self._lookout.due.set()

    def _stop(self) -> None:
        if self._reflector is not None:
            self._reflector.stop()
