"""Both calls in process, from the bytes of the review to the bytes of the reply, by stage; warm and cold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.bench import objects, ome
from tests.bench.objects import body, normalised
from tests.bench.report import Row, Table
from tests.bench.timing import cold, thrashing, warm
from webhook import catalog, engine
from webhook.admission import review
from webhook.admission.decision import Request
from webhook.admission.recent import RecentStamps
from webhook.catalog import Catalog
from webhook.cluster import ClusterView, MemoryView
from webhook.engine import Options
from webhook.serve.gate import Gate

REVIEWS = 200
WHOLE = "whole call"
COLUMNS = ("decode µs", "decide µs", "encode µs", f"{WHOLE} µs")


class Subject(NamedTuple):
    """Reviews of one sort of object, as the API server sends them to each webhook."""

    name: str
    mutate: Sequence[bytes]
    validate: Sequence[bytes]
    view: ClusterView


def subjects(loaded: Catalog, count: int) -> list[Subject]:
    found = [_subject(name, loaded, make, count) for name, make in objects.MODELS.items()]
    found.append(_subject("refused InferenceService, 15 KB", loaded, objects.refused_service, count))
    cluster = MemoryView([*ome.models(), *ome.runtimes()])
    chosen = _subject("InferenceService, 200 x 200 in view", loaded, _service, count, cluster)
    return [*found, chosen]


def _service(number: int) -> dict[str, Any]:
    """A service whose runtime is to be chosen."""
    obj = ome.service(f"model-{number % ome.COUNT}")
    obj["metadata"]["name"] = f"chat-{number}"
    return obj


def _subject(
    name: str, loaded: Catalog, make: Callable[[int], dict[str, Any]], count: int, view: ClusterView | None = None
) -> Subject:
    view = view or MemoryView()
    raw = [body(make(number), number) for number in range(count)]
    return Subject(name, raw, [normalised(each, loaded, view) for each in raw], view)


def asked(gate: Gate, call: Any) -> Callable[[bytes], bytes]:
    """A function that gives the reply to a review as the server gives it, with counters."""

    def reply(raw: bytes) -> bytes:
        found = gate.reply_now(call, raw, 10)
        if found is None:
            raise AssertionError("the review cannot be answered at once")
        given, finish = found
        finish()
        return given

    return reply


class Remembered(RecentStamps):
    """As if mutate had answered before each call of validate: a stamp is noted again when it is taken."""

    def take(self, request: Request) -> bool:
        found = super().take(request)
        if found:
            self.add(request, request.object)
        return found


def serving(gate: Gate, mutate: Sequence[bytes], validate: Sequence[bytes]) -> Gate:
    """Bring a gate to the state of one that serves: it has answered the reviews, and made its screens."""
    gate.replace(recent=Remembered())
    for call, raw in (("mutate", mutate), ("validate", validate)):
        for each in raw:
            asked(gate, call)(each)
    while gate.prepare_screens():
        pass
    return gate


def _row(subject: Subject, call: Any, loaded: Catalog) -> Row:
    raw = subject.mutate if call == "mutate" else subject.validate
    decide = engine.mutate if call == "mutate" else engine.validate
    decoded = [review.decode(each) for each in raw]
    decided = [(call, version, request, decide(request, loaded, subject.view)) for version, request in decoded]
    gate = serving(Gate(catalog=loaded, view=subject.view), subject.mutate, subject.validate)
    options = Options(written=lambda _: call == "validate")
    return Row(
        f"{call}: {subject.name}",
        {
            COLUMNS[0]: warm(review.decode, raw),
            COLUMNS[1]: warm(lambda each: decide(each[1], loaded, subject.view, options), decoded),
            COLUMNS[2]: warm(lambda each: review.encode(*each), decided),
            COLUMNS[3]: warm(asked(gate, call), raw),
        },
    )


def tables(*, quick: bool = False) -> list[Table]:
    loaded = catalog.load()
    found = subjects(loaded, 20 if quick else REVIEWS)
    note = (
        f"In process, warm: {len(found[0].mutate)} different reviews one after the other, median of the rounds. "
        "A whole call is from the bytes of the review to the bytes of the reply, with counters and log. As served, "
        "the function of all rules is made, and validate follows mutate of the same request in one process."
    )
    stages = Table("Stages", note, COLUMNS)
    stages.rows.extend(_row(each, call, loaded) for each in found for call in ("mutate", "validate"))
    return [stages, _cold(found, loaded)]


def _cold(found: Sequence[Subject], loaded: Catalog) -> Table:
    note = (
        "In process, cold: 20 ms without a call before each, and caches that hold 16 MB of other data and 1 MB of "
        "other code. The median and the extremes of single calls."
    )
    table = Table("Cold calls", note, (COLUMNS[3],))
    with thrashing() as thrash:
        for each in found:
            gate = serving(Gate(catalog=loaded, view=each.view), each.mutate, each.validate)
            for call, raw in (("mutate", each.mutate), ("validate", each.validate)):
                ask = asked(gate, call)
                ask(raw[0])
                table.rows.append(Row(f"{call}: {each.name}", {COLUMNS[3]: cold(ask, raw, thrash)}))
    return table
