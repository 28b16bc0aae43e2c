"""No output has a control character that a user wrote: no reply, Event, condition, Report or line of a command."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from reconciler.audit import Verdict
from reconciler.heal import REFUSED
from reconciler.projection import Happening
from reconciler.say.conditions import NORMALISED, Condition
from reconciler.say.events import _event
from reconciler.say.reports import report
from tests.cli.test_injection import objects
from tests.policies.test_cases import files, read, target
from tests.reconciler.looping import REPORTS
from tests.reconciler.models import NOW
from tests.reconciler.world import rules
from webhook.admission import one_line
from webhook.admission.review import encode
from webhook.catalog import Catalog
from webhook.cli import main
from webhook.cli.cases import Case, CaseResult, run
from webhook.cli.report import FORMATS
from webhook.engine.audit import Standing

EVIL = "a\n::error::x\r\t\0\x1b[31m\x7f\x85\x9b31m\u061c\u200e\u2028\u2029\u202e\u2066\u206a\ufeff\ufff9\U000e0041"
"""What a terminal, a log of lines or a reader obeys."""
TEXTS = ("object", "spec", "oldObject", "oldSpec", "others")
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def raw(text: str) -> set[str]:
    """The characters of a text that a terminal or a reader of lines obeys."""
    return {
        char
        for char in text
        if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or unicodedata.bidirectional(char) in DIRECTIONS
    }


def texts(value: Any) -> Iterator[str]:
    """All texts of a JSON value, except the patch, which is the object."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != "patch":
                yield key
                yield from texts(item)


def leaves(value: Any, *at: Any) -> Iterator[tuple[Any, ...]]:
    """The ways to all texts and objects of a JSON value."""
    if isinstance(value, str | dict):
        yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from leaves(value[key], *at, key)


def spoilt(value: Any, at: tuple[Any, ...]) -> Any:
    """A copy with the evil text at the end of the text there, or as a key of the object there."""
    if not at:
        return f"{value}{EVIL}" if isinstance(value, str) else {**value, EVIL: EVIL}
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[at[0]] = spoilt(value[at[0]], at[1:])
    return copy


def hostile(case: Case) -> Iterator[Case]:
    """The case with the evil text at one place of its objects, three times."""
    given = {name: getattr(case, name) for name in TEXTS if isinstance(getattr(case, name), dict | list | str)}
    ways = [way for way in leaves(given) if len(way) > 1 and way[-1] not in {"apiVersion", "kind"}]
    for way in random.Random(case.name).sample(ways, min(3, len(ways))):
        yield case.model_copy(update={way[0]: spoilt(given, way)[way[0]]})


def said(result: CaseResult) -> Iterator[str]:
    """All that the gate and the reconciler write of a case."""
    decision = result.validation
    for call in ("mutate", "validate"):
        reply = encode(call, "admission.k8s.io/v1", result.request, decision if call == "validate" else result.mutation)
        yield from texts(orjson.loads(reply))
    obj = {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n", "uid": "u"}}
    verdict = Verdict(decision.causes, decision.warnings, Standing.VOID, {})
    condition = Condition(NORMALISED, False, REFUSED, "; ".join(map(str, decision.causes)))
    yield condition.message
    yield from texts(_event(obj, Happening("Warning", REFUSED, condition.message), NOW, again=False))
    yield from texts(report(REPORTS, obj, verdict, condition, rules(), NOW))


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_no_text_of_a_rule_has_a_control_character(file: Path, loaded: Catalog) -> None:
    """Of each case, and so of each rule."""
    for document in read(file):
        for case in document.cases:
            for worse in hostile(case):
                found = [text for text in said(run(worse, target(document, loaded), loaded)) if raw(text)]
                assert found == [], case.name


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evil") / "evil.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects()[::3]}))
    return path


@pytest.mark.parametrize("command", ["check", "scan"])
@pytest.mark.parametrize("form", FORMATS)
def test_no_format_prints_a_control_character(
    manifest: Path, command: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--no-config", f"--output={form}", str(manifest)]) in {1, 2}
    out, err = capsys.readouterr()
    assert raw(out) <= {"\n"}
    assert raw(err) <= {"\n"}
    if out.startswith(("{", "[")):
        words = {"message", "text", "description", "help"}
        quoting = [text for key, text in members(json.loads(out)) if key in words and "::error" in text]
        assert quoting
        assert [text for text in quoting if raw(text)] == []


def members(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a JSON value, each with the key that it is below."""
    if isinstance(value, str):
        yield name, value
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from members(value[key], key if isinstance(key, str) else name)


@pytest.mark.parametrize("command", ["explain", "normalise"])
def test_no_command_prints_a_control_character(
    manifest: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([command, "--no-config", str(manifest)])
    out, err = capsys.readouterr()
    assert raw(out + err) <= {"\n"}


def test_a_second_pass_changes_nothing() -> None:
    assert one_line(one_line(EVIL)) == one_line(EVIL)
    assert one_line(EVIL).isprintable()
    assert one_line("\t\x1b\x9b\u202e\udce9") == r"\t\x1b\u009b\u202e\xe9"


def test_what_languages_need_stays() -> None:
    text = "Größe 100\u202f%, 模型\u3000大小, می\u200cخواهم, 👩\u200d💻"  # noqa: RUF001
    assert one_line(text) == text
