"""The recorded answers of llmaz's own webhooks are ours, but for what the lists name."""

from tests.conformance.runner import read_cases
from tests.conformance.tables import table
from tests.conformance.upstream_llmaz_ops import BEYOND, KIND, OTHERWISE, admission


def test_we_answer_as_llmaz_does_but_where_we_mean_to_differ() -> None:
    cases = read_cases(table("llmaz"))
    failed = {case["id"]: message for case in cases if (message := admission(case))}
    assert failed == {}
    assert sum((case["object"] or case["oldObject"])["kind"] == KIND.kind for case in cases) > 250


def test_every_difference_is_met() -> None:
    cases = read_cases(table("llmaz"))
    ours = [case for case in cases if case["object"] and case["object"]["kind"] == KIND.kind]
    specs = [spec for case in ours if isinstance(spec := case["object"].get("spec"), dict)]
    met = {code for code, (_, when) in BEYOND.items() if any(decodable(when, spec) for spec in specs)}
    met |= {code for code, (_, when) in OTHERWISE.items() if any(when(case) for case in ours)}
    assert met == {*BEYOND, *OTHERWISE}


def decodable(when, spec) -> bool:
    """Whether it is due, where it can be said: not of specifications of the wrong types, which the schema refuses."""
    try:
        return bool(when(spec))
    except (AttributeError, TypeError, ValueError):
        return False
