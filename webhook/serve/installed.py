"""Follow the definitions that are installed in the cluster, and judge by those that differ from Modelgate's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Final

from webhook.admission.errors import NotReady
from webhook.cluster.api import ApiError, Reader
from webhook.cluster.definitions import Definitions
from webhook.serve.gate import Gate
from webhook.serve.periodic import repeated

__all__ = ["InstalledDefinitions"]

log = logging.getLogger("modelgate")

SECONDS: Final = 10.0
"""Between two looks: a definition changes with a release of its operator, and this costs 19 small requests."""

TIMEOUT: Final = 10.0
"""Seconds for one request: a definition has up to two megabytes."""


class InstalledDefinitions:
    """Tells a gate the definitions of its kinds. ``connect`` raises NotReady if it is not possible yet.

    The gate is not ready before the first look, because it may refuse what is valid. If it is not allowed to read
    definitions, it judges by its own and says so.
    """

    def __init__(self, gate: Gate, connect: Callable[[], Reader]) -> None:
        self._gate = gate
        self._connect = connect
        self._definitions: Definitions | None = None
        self._trouble = "the installed definitions are not read yet"
        self._looked = False

    def unready(self) -> list[str]:
        """Why the definitions are not known; empty after the first look."""
        return [] if self._looked else [self._trouble]

    def look(self) -> None:
        """Look once, and tell the gate what has changed."""
        try:
            self._look()
        except (ApiError, NotReady) as error:
            text = f"the installed definitions cannot be read: {error}"
            forbidden = isinstance(error, ApiError) and error.status in {401, 403}
            if text != self._trouble:
                log.warning("%s%s", text, "; Modelgate judges by its own" if forbidden else "")
            self._trouble = text
            self._looked = self._looked or forbidden
            if self._looked:
                self._gate.refuse("installed definitions", text)
        else:
            self._looked, self._trouble = True, ""
            self._gate.accept("installed definitions")

    def _look(self) -> None:
        if self._definitions is None:
            self._definitions = Definitions(self._connect())
        if self._definitions.refresh(self._gate.definition_names(), TIMEOUT):
            self._gate.use_definitions(self._definitions.documents)

    @contextlib.asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Look at once, and then repeatedly, while the context lasts."""
        first = asyncio.create_task(asyncio.to_thread(self.look))
        async with repeated(self.look, SECONDS):
            yield
        with contextlib.suppress(asyncio.CancelledError):
            await first
