"""Forks beside threads that write the view, in a process that has nothing else: ``python -m tests.cluster.locks N``."""

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Iterator

from tests.threads import beside
from webhook.cluster import Kind
from webhook.cluster.readthrough import Reference
from webhook.cluster.store import RecentAnswers, Store
from webhook.cluster.view import Key
from webhook.serve.forked import Children

FAR = 60.0
"""Seconds, for a child that hangs."""
OFTEN = 0.0002
"""Seconds after which threads take turns: a twenty-fifth of Python's, so that forks meet them at more places."""

QUESTION = Reference(Kind("ome.io", "BaseModel"), "", "m")


@contextlib.contextmanager
def written(store: Store, recent: RecentAnswers) -> Iterator[None]:
    """Three threads write as fast as they can."""
    stop = threading.Event()

    def write(_: int) -> None:
        while not stop.is_set():
            store.put(Key("n", "a"), {"metadata": {}})
            store.list(None)
            recent.put(QUESTION, None)

    with beside(stop, write, 3):
        yield


def main(forks: int) -> None:
    """Fork so often; raises if a child does not answer."""
    sys.setswitchinterval(OFTEN)
    store, recent = Store(), RecentAnswers(time.monotonic)

    def read() -> int:
        recent.get(QUESTION)
        return len(store.list("other"))

    async def answers() -> list[int]:
        children = Children(limit=0)
        return [await children.run(read, time.monotonic() + FAR) for _ in range(forks)]

    with written(store, recent):
        print(sum(each == 0 for each in asyncio.run(answers())))


if __name__ == "__main__":
    main(int(sys.argv[1]))
