"""Forks beside threads that write the view: a child can always read it."""

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Iterator

from tests.laws import is_quick
from webhook.cluster import Kind
from webhook.cluster.readthrough import Reference
from webhook.cluster.recent import RecentAnswers
from webhook.cluster.resource import Key
from webhook.cluster.store import Store
from webhook.serve.forked import Children

FORKS = 20 if is_quick() else 200
FAR = 60.0
"""Seconds, for a child that hangs."""

QUESTION = Reference(Kind("ome.io", "BaseModel"), "", "m")


OFTEN = 0.0002
"""Seconds after which threads take turns: a twenty-fifth of Python's, so that forks come at many more places of them."""


@contextlib.contextmanager
def written(store: Store, recent: RecentAnswers) -> Iterator[None]:
    """Three threads write as fast as they can."""
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            store.put(Key("n", "a"), {"metadata": {}})
            store.list(None)
            recent.put(QUESTION, None)

    threads = [threading.Thread(target=write) for _ in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(OFTEN)
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        stop.set()
        for thread in threads:
            thread.join()


def test_no_child_hangs_while_other_threads_write_the_view():
    store, recent = Store(), RecentAnswers(time.monotonic)

    def read() -> int:
        recent.get(QUESTION)
        return len(store.list("other"))

    async def main() -> list[int]:
        children = Children(limit=0)
        return [await children.run(read, time.monotonic() + FAR) for _ in range(FORKS)]

    with written(store, recent):
        assert asyncio.run(main()) == [0] * FORKS
