"""Generated Python has no word of a user in it: hostile policies of both sorts, and hostile definitions."""

import pytest

from tests.fuzz import sources
from webhook.cel.codegen import writer


def test_no_text_of_a_policy_or_a_definition_leaves_its_place() -> None:
    assert sources.main(["-n", "30"]) == 0


def test_a_literal_that_is_not_quoted_as_python_does_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The proof that the test above can see it."""
    monkeypatch.setattr(writer, "repr", lambda value: f"'{value}'", raising=False)
    assert sources.main(["-n", "12", "--seed", "2"]) == 1
    assert "__import__" in capsys.readouterr().out
