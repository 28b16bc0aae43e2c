"""The API server's own code behind a pipe (``tests/oracle``): JSON lines in, JSON lines out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from tests.oracle.build import find_oracle


class Oracle:
    """One running oracle. Requests are answered in order; a batch keeps its workers busy.

    with Oracle() as oracle:
        answer, = oracle.ask([{"schema": schema, "obj": obj}])
    """

    def __init__(self, workers: int = 2, program: Path | None = None) -> None:
        path = program or find_oracle()
        if path is None:
            raise SystemExit("no oracle: run `make oracle` (needs Go), or set MODELGATE_ORACLE")
        self._process = subprocess.Popen(
            [path, "-j", str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, requests: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The answers to a batch, small enough for the pipe's buffers not to fill both ways."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for request in requests:
            self._process.stdin.write(json.dumps(request, ensure_ascii=False) + "\n")
            self._process.stdin.flush()
            yield json.loads(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()


def lists_for_nulls(value: Any) -> Any:
    """An answer with the lists that Go prints as null: an empty one that an expression has made is a nil slice."""
    if isinstance(value, dict):
        return {key: lists_for_nulls(item) for key, item in value.items()}
    if isinstance(value, list):
        return [lists_for_nulls(item) for item in value]
    return [] if value is None else value
