"""New rules into a running gate: compiled aside, swapped as a whole; what cannot be used changes nothing."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from webhook import catalog
from webhook.errors import LoadError
from webhook.serve.gate import Gate

__all__ = ["Reloader"]

log = logging.getLogger("modelgate")


class Reloader:
    """Keeps a gate's catalog equal to a folder of APIs.

    A ConfigMap that is mounted as a folder changes by one symlink, and so does a set of files
    that is put in place by a rename; a folder that is written file by file may be seen half
    done. So a set is taken only when two looks in a row find it the same.
    """

    def __init__(self, gate: Gate, folder: Path) -> None:
        self._gate = gate
        self._folder = folder
        self._seen = ""
        self._tried = ""

    def load(self) -> None:
        """Load for the first time.

        Raises:
            LoadError: with every problem; there is no earlier set to go on with.
        """
        self._tried = self._seen = self._digest()
        self._swap(self._compile())

    def refresh(self) -> None:
        """Look at the folder, and take what is new and sound."""
        seen, self._seen = self._seen, self._digest()
        if self._seen == self._tried or self._seen != seen:
            return
        self._tried = self._seen
        try:
            self._swap(self._compile())
        except (LoadError, OSError, UnicodeDecodeError) as error:
            self._gate.refused = f"the new rules in {self._folder} are not used: {error}"
            self._gate.metrics.reloads.labels("refused").inc()
            log.error("%s", self._gate.refused)  # noqa: TRY400 - the text names file and line

    def _compile(self) -> catalog.Catalog:
        return catalog.load(self._folder, self._gate.options.settings)

    def _swap(self, new: catalog.Catalog) -> None:
        """One assignment: a request sees the old set or the new one."""
        self._gate.use(new)
        self._gate.metrics.reloads.labels("taken").inc()
        log.info("catalog %s: %d kinds", new.digest, len(new.kinds))

    def _digest(self) -> str:
        found = hashlib.sha256()
        root = self._folder.resolve()
        for file in sorted(root.rglob("*")):
            if file.is_file() and not any(part.startswith("..") for part in file.relative_to(root).parts):
                found.update(f"{file.relative_to(root)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
        return found.hexdigest()
