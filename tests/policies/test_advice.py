"""Advice that a program can follow ends without a new error, and each finding is one short line.

More: ``python -m tests.fuzz.advice``.
"""

from __future__ import annotations

from collections import Counter

from tests.fuzz.advice import Judge, changed, judges, problems, steps
from webhook.catalog import Catalog

PART = 4
"""One case in so many is judged here; the program judges all, and mutants of them."""


def test_advice_that_a_program_follows_ends_without_a_new_error(loaded: Catalog) -> None:
    followed = Counter[str]()
    wrong = [text for judge, obj in [*judges(loaded)][::PART] for text in problems(judge, obj, followed)]
    assert wrong == []
    assert followed.total() > 150 / PART


def test_the_program_finds_advice_that_leads_to_an_error_and_such_that_does_nothing(loaded: Catalog) -> None:
    judge, obj = next((judge, obj) for judge, obj in judges(loaded) if judge.kind.gvk.kind == "OpenModel")
    bad = obj | {"spec": {**obj["spec"], "source": {"uri": "ollama://llama 3"}}}
    (finding,) = (one for one in judge.said(bad) if one.code == "LZ321")

    def wrong(text: str) -> list[str]:
        says = finding._replace(lines=(text,))

        class Advised(Judge):
            def said(self, obj: dict[str, object]) -> list[object]:  # type: ignore[override]
                return [says if one.code == "LZ321" else one for one in super().said(obj)]

        return [*problems(Advised(*judge), bad, Counter())]

    assert "new: LZ201 error" in wrong("has a space; remove it")[0]
    assert "it is said again" in wrong('has a space; use "ollama://llama 4"')[0]
    assert wrong('has a space; use "ollama://llama3"') == []
    assert "300 characters" in wrong("x" * 300)[0]
    (step,) = steps(finding._replace(lines=("set spec.inferenceConfig.a: 1",)), bad)
    assert changed(bad, step)["spec"]["inferenceConfig"] == {"a": 1}
