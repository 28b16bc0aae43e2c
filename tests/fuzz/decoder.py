"""``python -m tests.fuzz.decoder -n N``: mutated AdmissionReviews through the decoder and the ASGI application.

The real reviews of ``tests/fixtures/reviews`` are changed as JSON (structure) or as bytes. Each gets an answer: a
decision, or a 4xx that says what is wrong. A 500 or an exception is a defect; the seed repeats it.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import logging
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message

from tests.shared import ROOT
from webhook import catalog
from webhook.admission import review
from webhook.admission.errors import RequestError
from webhook.cel.limits import RECURSION
from webhook.serve.app import application
from webhook.serve.gate import Gate

REVIEWS = [path.read_bytes() for path in sorted((ROOT / "tests/fixtures/reviews").glob("*.json"))]
STATUSES = {200, 400, 413, 415, 503}
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1e308,
        2**63,
        2**64,
        10**30,
        "",
        "a",
        "\ud800",
        "\x00",
        "1Gi",
        [],
        {},
        [[]],
        [None],
        {"": None},
    ),
    *("UPDATE", "DELETE", "CONNECT", "v1", "a/b/c", "AdmissionReview", "admission.k8s.io/v1beta1", "x" * 5000),
)
ODD_BYTES = (b"", b"{", b"}", b"[", b'"', b",", b":", b"\x00", b"\xff", b"\xed\xa0\x80", b"\\u0000", b"\\ud800", b"NaN",
             b"-0", b"1e999", b"[" * 300, b'{"a":' * 300, b"9" * 400, b"\xef\xbb\xbf", b"\\", b"null")  # fmt: skip
TYPES = ("application/json", "application/json; charset=utf-8", "text/plain", "", "application/JSON", "a\x00b")
QUERIES = (
    "",
    "timeout=5s",
    "timeout=1ms",
    "timeout=",
    "timeout=x",
    "timeout=99999999999s",
    "timeout=5s&timeout=6s",
    "%",
)


def requests(raw: bytes) -> list[tuple[bytes, str]]:
    """The reviews of a file of fixtures, each with its call."""
    return [
        (json.dumps(found).encode(), call) for call, found in json.loads(raw).items() if call in {"mutate", "validate"}
    ]


SEEDS = [each for raw in REVIEWS for each in requests(raw)]


def mutated(body: bytes, dice: random.Random) -> bytes:
    """A body with one to four changes, of structure or of bytes."""
    if dice.random() < 0.7:
        tree = json.loads(body)
        for _ in range(dice.randint(1, 4)):
            change_tree(tree, dice)
        body = json.dumps(tree, ensure_ascii=dice.random() < 0.7).encode("utf-8", "surrogatepass")
    if dice.random() < 0.4:
        for _ in range(dice.randint(1, 4)):
            body = changed_bytes(body, dice)
    return body


def change_tree(tree: Any, dice: random.Random) -> None:
    """Replace, remove, add, double or nest one value, wherever it is."""
    parent, key = dice.choice(places(tree))
    change = dice.choice(("replace", "replace", "remove", "add", "copy", "nest"))
    if change == "remove":
        del parent[key]
    elif change == "add" and isinstance(parent, dict):
        parent[dice.choice(("", "a", "metadata", "\ud800", "__proto__", "x" * 300))] = copy.deepcopy(dice.choice(ODD))
    elif change == "copy":
        other, place = dice.choice(places(tree))
        parent[key] = json.loads(json.dumps(other[place]))
    elif change == "nest":
        for _ in range(dice.choice((1, 30, 300))):
            parent[key] = dice.choice(([parent[key]], {"a": parent[key]}))
    else:
        parent[key] = copy.deepcopy(dice.choice(ODD))


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every value of a tree as its parent and its key; a list, since a tree may be deep."""
    found, left = [], [node]
    while left:
        parent = left.pop()
        for key in parent if isinstance(parent, dict) else range(len(parent)):
            found.append((parent, key))
            if isinstance(parent[key], dict | list):
                left.append(parent[key])
    return found or [({"a": 0}, "a")]


def changed_bytes(body: bytes, dice: random.Random) -> bytes:
    """Insert, cut, flip or double some bytes."""
    start, length = dice.randrange(len(body) + 1), dice.choice((0, 1, 1, 2, 20, 2000))
    inserted = dice.choice((dice.choice(ODD_BYTES), dice.randbytes(dice.randint(0, 3)), body[start : start + 40]))
    return body[:start] + inserted + body[start + length :]


def decoded(body: bytes) -> str:
    """What the decoder says of a body: ``decoded`` or ``malformed``; anything else is raised."""
    try:
        review.decode(body)
    except RequestError:
        return "malformed"
    return "decoded"


async def posted(app: ASGIApp, path: str, query: str, content_type: str, body: bytes) -> int:
    """The status of a POST, without a network."""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"content-type", content_type.encode()), (b"content-length", b"%d" % len(body))],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 1),
        "scheme": "https",
    }
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    (status,) = statuses
    return status


def one(app: ASGIApp, ask: Callable[[Any], int], seed: int) -> str:
    """The outcome of one case.

    Raises:
        Exception: whatever the decoder or the face did not catch.
    """
    dice = random.Random(seed)
    seed_body, call = dice.choice(SEEDS)
    body = mutated(seed_body, dice)
    decoded(body)
    content_type = dice.choice(TYPES) if dice.random() < 0.02 else TYPES[0]
    query = dice.choice(QUERIES) if dice.random() < 0.1 else "timeout=5s"
    status = ask(posted(app, f"/{call}", query, content_type, body))
    return str(status) if status in STATUSES else f"DEFECT {status}"


def _caught(app: ASGIApp, ask: Callable[[Any], int], seed: int) -> str:
    """The outcome of one case; an exception that got out is a defect, too."""
    try:
        outcome = one(app, ask, seed)
    except Exception as error:  # noqa: BLE001 - what is looked for
        outcome = f"DEFECT {type(error).__name__}"
        print(f"seed {seed}: {error!r:.300}", flush=True)
    else:
        if outcome.startswith("DEFECT"):
            print(f"seed {seed}: {outcome}", flush=True)
    return outcome


def main(argv: list[str] | None = None) -> int:
    """Run, print each defect and the counts; 1 where there was one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.decoder", description=main.__doc__)
    parser.add_argument("-n", type=int, default=20_000, help="how many reviews")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args(argv)
    log = logging.getLogger("modelgate")
    level = log.level
    log.setLevel(logging.CRITICAL)
    app = application(Gate(catalog=catalog.load().compiled()))
    counts: Counter[str] = Counter()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION)  # as `modelgate serve` does
    try:
        with asyncio.Runner() as runner:
            for seed in range(options.seed, options.seed + options.n):
                counts[_caught(app, runner.run, seed)] += 1
    finally:
        sys.setrecursionlimit(limit)
        log.setLevel(level)
    print(f"{options.n} reviews: {dict(sorted(counts.items()))}")
    return int(any(outcome.startswith("DEFECT") for outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
