"""What it costs the reconciler to hold and judge many objects that need nothing: no API server, and no write.

BENCH_JUDGED is another number of Models than 10,000.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from reconciler.heal import PASSED
from reconciler.loop import Loop
from reconciler.process import _followed
from reconciler.resource import Item, Key
from reconciler.say.conditions import merged, utc_now
from tests.reconciler.models import model
from tests.reconciler.world import MODEL, Gate, rules
from webhook.cluster.live import LiveView
from webhook.cluster.view import MemoryView


class Silent:
    """An API server that must not be called."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"called: {name}")


def main() -> None:
    """Judge each object twice: for the first time, and again as after a change of the rules."""
    size = int(os.environ.get("BENCH_JUDGED", "10000"))
    by, before = rules("strict"), _memory()
    api: Any = Silent()
    view = LiveView(api, _followed(by, (), lambda *_: None))
    store = view._informers[MODEL]._store
    good = Gate(by, MemoryView())(model())
    said = {"conditions": merged([], [PASSED], 2, utc_now())}
    keys = [Key("default", f"model-{number}") for number in range(size)]
    for key in keys:
        identity = {"name": key.name, "uid": f"00000000-0000-0000-0000-{key.name:>12}", "resourceVersion": "1"}
        store.put(key, {**good, "metadata": {**good["metadata"], **identity, "generation": 2}, "status": said})
    loop = Loop(api, view, by, {})
    for what in ("judged", "judged again"):
        started = time.process_time()
        for key in keys:
            loop.step(Item(MODEL, key))
        print(f"{size} objects {what}: CPU {time.process_time() - started:.1f} s, {before} → {_memory()} MiB")


def _memory() -> int:
    """The resident memory of this process, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
