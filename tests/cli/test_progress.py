"""A long run tells a person at a terminal how far it is, and a file nothing."""

import io
from collections.abc import Iterator

import pytest

from webhook.cli.terminal import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes between two looks."""
    seconds: Iterator[int] = iter(range(10_000))
    monkeypatch.setattr("time.monotonic", lambda: next(seconds))


@pytest.mark.usefixtures("clock")
def test_a_terminal_shows_a_line_that_is_removed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert list(progress(range(1200), "judged")) == list(range(1200))
    said = terminal.getvalue()
    assert "judged: 1,100 of 1,200" in said
    assert "\n" not in said
    assert said.endswith("\r\033[K")


def test_a_short_run_and_a_file_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stderr", stream)
        assert list(progress("ab", "read")) == ["a", "b"]
        assert stream.getvalue() == ""
