"""The short form of ``make hostile``: counts and statuses only, since a time on a shared machine shows nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz import decoder, framing
from tests.hostile import bars, bodies, children, flood, freshness, large, memory, planted, processes, wire, worst
from tests.hostile.attacks import attack, attacks, small
from tests.hostile.callers import Hostile
from tests.hostile.isolation import good_body
from tests.hostile.serving import Gate, serving, wait_until
from webhook.serve.http.connection import CONNECTIONS
from webhook.serve.http.listener import HANDSHAKES

ITEMS = 20_000
"""Enough for a large review; few enough for CI."""

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # of peers that never close


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with serving() as gate:
        gate.post("/validate", good_body())
        yield gate


@pytest.fixture(scope="module")
def calm_gate() -> Iterator[Gate]:
    """A gate that no flood has met: after one, a child finds so much free memory that it needs no more."""
    with serving() as gate:
        yield gate


def test_every_kind_has_its_worst_objects_and_they_are_still_places_of_it() -> None:
    for kind in bodies.kinds():
        assert worst.of(kind), kind


def test_the_good_object_of_every_kind_has_a_small_review() -> None:
    for known in bodies.kinds().values():
        assert bodies.is_small(bodies.review(known, bodies.good(known)))


def test_every_place_of_a_kind_can_be_filled_to_a_small_review() -> None:
    for one in attacks(bodies.kinds()["OpenModel"]):
        body = one.largest("UPDATE same", small)
        assert bodies.is_small(body), one


@pytest.mark.parametrize("call", ["mutate", "validate"])
def test_hostile_calls_of_several_kinds_are_answered_properly(gate: Gate, call: str) -> None:
    async def asked() -> list[wire.Answer]:
        target = wire.Target(gate.port, str(gate.authority_file))
        async with wire.Caller(target) as caller:
            requests = [wire.post(f"/{call}?timeout=30s", body) for body in some_attacks()]
            return [await caller.ask(request) for request in requests]

    found = Hostile.of(asyncio.run(asked()))
    assert found.wrong == 0, found


def some_attacks() -> list[bytes]:
    wide = attack("AIMService", "spec.imagePullSecrets", "empty objects").review("CREATE", ITEMS)
    deep = attack("Model", "spec.files", "equal items").review("UPDATE same", ITEMS)
    return [wide, deep, children.large_body(), good_body()]


def test_good_callers_lose_nothing_while_a_hostile_one_asks(gate: Gate) -> None:
    async def both() -> Counter[int]:
        target = wire.Target(gate.port, str(gate.authority_file))
        async with wire.Caller(target) as hostile, wire.Caller(target) as good:
            hostile_call = asyncio.create_task(hostile.ask(wire.post("/validate?timeout=30s", some_attacks()[1])))
            answers = [await good.ask(wire.post("/validate?timeout=30s", good_body())) for _ in range(20)]
            return Counter(answer.status for answer in [*answers, await hostile_call])

    assert set(asyncio.run(both())) <= {200, 413, 503}


@pytest.mark.parametrize(
    ("opening", "count"),
    [(flood.silent, 2 * HANDSHAKES), (flood.begun, CONNECTIONS + 2 * HANDSHAKES), (flood.handshaken, CONNECTIONS + 50)],
    ids=["silent connections", "unfinished handshakes", "idle connections"],
)
def test_good_callers_are_answered_while_strangers_open_connections(
    gate: Gate, opening: flood.Opening, count: int
) -> None:
    """More than the gate keeps, all the time: a good caller is answered by each new connection and by a kept one."""
    body = good_body()
    with contextlib.closing(gate.connection()) as kept, flood.standing(gate, opening, count) as opened:
        before = opened()
        statuses: list[int] = []
        while len(statuses) < 40 or opened() < before + count // 4:
            statuses.append(gate.post("/validate?timeout=30s", body)[0])
            kept.request("POST", "/validate?timeout=30s", body, {"Content-Type": "application/json"})
            answer = kept.getresponse()
            answer.read()
            statuses.append(answer.status)
        assert gate.get("/healthz") == (200, "ok\n")
    assert set(statuses) == {200}


@pytest.mark.parametrize(
    "attack_",
    [
        lambda gate: memory.half_open(gate, 200),
        lambda gate: memory.header_floods(gate, 5),
        lambda gate: memory.slow_senders(gate, 20),
        memory.large_body,
    ],
    ids=["half-open handshakes", "header floods", "slow senders", "7 MiB"],
)
def test_descriptors_are_back_after_an_attack_and_the_gate_answers(gate: Gate, attack_: memory.Attackers) -> None:
    before = processes.descriptors(gate.pid)
    attack_(gate)
    wait_until(lambda: processes.descriptors(gate.pid) <= before, 60, "the descriptors are closed")
    assert gate.post("/validate?timeout=30s", good_body())[0] == 200
    assert processes.zombies(gate.pid) == []


@pytest.mark.parametrize(("name", "end", "outcome", "statuses"), children.ENDS, ids=[each[0] for each in children.ENDS])
def test_a_child_that_dies_costs_one_answer(
    calm_gate: Gate, name: str, end: Callable[[int], None], outcome: str, statuses: set[int]
) -> None:
    report = bars.Report()
    children.ended(report, calm_gate, name, end, outcome, statuses)
    assert report.missed == []


@pytest.mark.parametrize("name", ["blanks", "the most that is judged"])
def test_a_good_large_caller_is_answered_among_hostile_ones(gate: Gate, name: str) -> None:
    """Each has a share. Statuses only: the time of a busy machine shows nothing."""

    async def asked() -> list[wire.Answer]:
        target = large.target_of(gate)
        request = wire.post("/validate?timeout=30s", large.floods()[name])

        async def hostile() -> None:
            async with wire.Caller(target) as caller:
                while True:
                    await caller.ask(request)

        floods = [asyncio.create_task(hostile()) for _ in range(4)]
        async with wire.Caller(target) as caller:
            good = wire.post("/validate?timeout=30s", large.good_large())
            answers = [await caller.ask(good) for _ in range(3)]
        for each in floods:
            each.cancel()
        await asyncio.gather(*floods, return_exceptions=True)
        return answers

    assert [each.status for each in asyncio.run(asked())] == [200] * 3


def test_a_review_that_policies_make_expensive_is_decided_in_a_child(tmp_path: Path) -> None:
    large.write_policies(tmp_path, 8)
    with serving("--admission-policies", str(tmp_path)) as gate:
        before = gate.counter(children.METRIC)
        status, _ = gate.post("/validate?timeout=2s", large.expensive())
        assert status in {200, 503}
        assert gate.counter(children.METRIC) == before + 1
        assert gate.get("/healthz")[0] == 200


def test_forks_while_the_view_changes_do_not_hang() -> None:
    """``make hostile`` forks 200 times."""
    report = bars.Report()
    children.hung(report, 10)
    assert report.missed == []


def test_a_large_review_sees_rules_that_were_reloaded() -> None:
    assert freshness.stale_after_reload() == 0


def test_a_large_review_sees_an_object_that_has_come() -> None:
    assert freshness.stale_after_change() == 0


def test_the_decoder_answers_whatever_comes() -> None:
    assert decoder.main(["-n", "1500", "--seed", "1000"]) == 0


def test_http_framing_is_answered_or_closed() -> None:
    assert framing.main(["-n", "1500"]) == 0


def test_a_fault_is_noticed_and_one_without_effect_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row for real; then a change that does no harm, another reason, and a test that fails anyway."""
    monkeypatch.delenv(planted.PLANE, raising=False)
    fault = next(each for each in planted.faults() if each.row == "threat-9")
    with planted.copied() as clean:
        assert planted.outcome(clean, fault) == "noticed"
        harmless = replace(fault, new=f"({fault.old})")
        assert planted.outcome(clean, harmless).startswith("NOT NOTICED: the test passes with the fault")
        assert planted.outcome(clean, replace(fault, shows="no such text")).startswith("NOT NOTICED: the test does not")
        absent = replace(fault, test="tests/certs/test_authority.py::test_that_does_not_exist")
        assert planted.outcome(clean, absent).startswith("NOT NOTICED: without the fault")
        assert planted.outcome(clean, replace(fault, plane=True)).startswith("skipped: needs a real API server")


def test_a_report_is_written_read_and_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, page = bars.Report(), tmp_path / "page.md"
    report.add("part", "something", 3, "ms", 2, "a note")
    report.skip("other", "no cgroup")
    report.write(tmp_path / "figures.json")
    rows = "| part | gone | 1 |\n| part | something | 1 |\n| stays | as it is | 1 |\n"
    page.write_text(f"before\n{bars.MARKS[0]}{rows}{bars.MARKS[1]}after\n")
    bars.publish(bars.read(tmp_path / "figures.json"), page, whole=False)
    assert "| part | gone | 1 |" in page.read_text()
    assert "| part | something | 1 |" not in page.read_text()
    bars.publish(bars.read(tmp_path / "figures.json"), page)
    told = [line for line in page.read_text().splitlines() if line.startswith("| ")][1:]
    assert [line[:18] for line in told] == ["| part | something", "| stays | as it is", "| other | not run "]
    assert "| part | something | 3 ms | 2 ms | NOT MET | a note |" in told
    assert "skipped: no cgroup" in capsys.readouterr().out
