"""The benchmark measures what its tables say: objects that differ, with the findings that their names promise."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest

from certs.authority import Authority
from tests.bench import stages
from tests.bench.bars import IN_PROCESS, THROUGH_API_SERVER, Bar, beside
from tests.bench.e2e.__main__ import GO, Creator, Load, Samples, Variant, tables_of
from tests.bench.objects import MODELS, body, normalised, refused_service, sized
from tests.bench.report import PAGE, Row, Table, document, markdown, published
from webhook import catalog, engine
from webhook.admission import review
from webhook.cluster import MemoryView

LOADED = catalog.load()
FINDINGS = {"sparse Model": 1, "full Model": 1, "Model with 14 findings": 14}
TABLE = Table("Calls", "A note.", ("µs", "ms"), [Row("one", {"µs": [1.0, 3.0, 2.0]}), Row("two", {"ms": "fails"})])


def decided(raw: bytes) -> engine.Validation:
    _, request = review.decode(normalised(raw, LOADED))
    return engine.validate(request, LOADED, MemoryView())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_accepted_with_the_same_findings_whatever_its_number(name: str) -> None:
    found = [decided(body(MODELS[name](number), number)) for number in range(12)]
    assert [len(each.warnings) for each in found] == [FINDINGS[name]] * 12
    assert all(each.allowed for each in found)


@pytest.mark.parametrize("make", [*MODELS.values(), refused_service])
def test_no_two_reviews_are_alike(make) -> None:
    specs = {orjson.dumps(make(number)["spec"]) for number in range(100)}
    names = {make(number)["metadata"]["name"] for number in range(100)}
    assert len(specs) == len(names) == len({body(make(number), number) for number in range(100)}) == 100


def test_a_refused_service_is_15_kb_and_refused_for_many_reasons() -> None:
    raw = body(refused_service(7), 7)
    found = decided(raw)
    assert 14_500 < len(raw) < 16_000
    assert not found.allowed
    assert len(found.causes) + len(found.warnings) > 12


@pytest.mark.parametrize("size", [4_000, 15_000, 256_000])
def test_a_model_has_the_size_that_is_asked_for(size: int) -> None:
    assert abs(len(orjson.dumps(sized(size))) - size) < 10


def test_a_whole_call_gives_the_reply_of_the_gate() -> None:
    raw = body(MODELS["sparse Model"](3), 3)
    reply = orjson.loads(stages.asked(stages.Gate(catalog=LOADED), "mutate")(raw))
    assert reply["response"]["uid"] == orjson.loads(raw)["request"]["uid"]
    assert reply["response"]["patch"]


def test_a_table_shows_the_median_and_the_extremes_and_keeps_every_sample() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[-2:] == ["| one | 2.00 (1.00 to 3.00) | - |", "| two | - | fails |"]
    raw = json.loads(document({"CPU": "x"}, [TABLE]))["tables"][0]["rows"][0]["cells"]["µs"]
    assert raw == {"min": 1.0, "median": 2.0, "max": 3.0, "samples": [1.0, 3.0, 2.0]}


@pytest.mark.parametrize("section", ["bench", "bench-e2e"])
def test_publishing_replaces_one_section_of_the_page(section: str) -> None:
    page = PAGE.read_text()
    once = published(page, section, markdown({"CPU": "x"}, [TABLE]))
    assert "| one | 2.00 (1.00 to 3.00) | - |" in once
    assert published(once, section, "nothing") == published(page, section, "nothing")
    assert once.count("<!--") == page.count("<!--")


def test_publishing_one_section_keeps_the_other() -> None:
    first = published(PAGE.read_text(), "bench", "of one server")
    both = published(first, "bench-e2e", "through the API server")
    assert both.index("through the API server") < both.index("of one server")
    assert published(both, "bench", "measured again").count("through the API server") == 1


@pytest.mark.parametrize(
    ("column", "limit", "least", "shown"),
    [
        ("µs", 2.0, False, "| ≤ 2 | 2.00 (1.00 to 3.00) | yes |"),
        ("µs", 1.5, False, "| ≤ 1.5 | 2.00 (1.00 to 3.00) | within the spread |"),
        ("µs", 4_000, True, "| ≥ 4000 | 2.00 (1.00 to 3.00) | no |"),
        ("µs", 1, True, "| ≥ 1 | 2.00 (1.00 to 3.00) | yes |"),
        ("s", 1, False, "| ≤ 1 | - | - |"),
    ],
)
def test_a_bar_is_shown_beside_its_figure(column: str, limit: float, least: bool, shown: str) -> None:
    lines = beside([Bar("Calls", "one", column, limit, least)], [TABLE]).markdown().splitlines()
    assert lines[-1] == f"| Calls: one, {column} {shown}"


def test_each_bar_has_one_line() -> None:
    for bars in (IN_PROCESS, THROUGH_API_SERVER):
        assert len(set(map(str, bars))) == len(bars)


def test_a_page_without_the_section_is_not_written() -> None:
    with pytest.raises(ValueError, match="no section"):
        published("# Performance", "bench", "text")


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([1.0, 1.1, 1.2], "yes"),
        ([1.19, 1.21, 1.25], "within the spread"),
        ([1.24, 1.25, 1.26], "no"),
        ([1.3], "no"),
    ],
)
def test_a_bar_that_is_missed_by_less_than_the_spread_of_its_rounds_is_met(rounds: list[float], expected: str) -> None:
    assert Bar("t", "r", "c", 1.2).verdict(rounds) == expected
    assert Bar("t", "r", "c", -1.2, least=True).verdict([-each for each in rounds]) == expected


def test_a_connection_that_the_peer_closes_is_a_failed_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ca.crt").write_text(Authority.create(datetime.now(UTC)).bundle.decode())
    with socket.create_server(("127.0.0.1", 0)) as peer:
        host = f"https://127.0.0.1:{peer.getsockname()[1]}"
        threading.Thread(target=_close_each, args=(peer,), daemon=True).start()
        cluster = {"server": host, "certificate-authority": str(tmp_path / "ca.crt")}
        config = {
            "clusters": [{"cluster": cluster}],
            "contexts": [{"context": {}}],
            "users": [{"user": {"token": "t"}}],
        }
        (tmp_path / "config").write_text(json.dumps(config))
        creator = Creator(SimpleNamespace(kubeconfig=tmp_path / "config"))
        variant = Variant(GO, "go")
        assert [creator.create(variant), creator.create(variant, dry=True)] == [None, None]
    assert capsys.readouterr().err.count(f"failed: {GO}: ") == 2


def _close_each(peer: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            peer.accept()[0].close()


def test_failed_calls_are_a_column_and_a_run_that_was_cut_short_has_the_figures_that_it_measured() -> None:
    variant = Variant(GO, "go")
    samples = Samples(created=[2.0, 1.0, 3.0], load=Load(10, 2.0, 0.0, 1), failed=2)
    assert samples.figures(variant) == {"failed": 3, "create p50 ms": 2.0, "create p99 ms": 3.0, "creates/s": 5.0}
    cells = {GO: {name: [figure] for name, figure in samples.figures(variant).items()}}
    absolute, ratios = tables_of((GO, "modelgate"), cells)
    assert "| 3.00 |" in absolute.markdown()
    assert [row.name for row in ratios.rows] == [GO]
