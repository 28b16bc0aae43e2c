"""The log level of the commands that keep running."""

import logging
from collections.abc import Iterator

import pytest

from webhook.admission.errors import SettingsError
from webhook.cli import logs, main

NAMES = ("", "modelgate", "webhook.cluster.reflector", "reconciler.loop", "uvicorn.error", "kubernetes.client.rest")


@pytest.fixture(autouse=True)
def unchanged_levels() -> Iterator[None]:
    changed = ["", "modelgate", "webhook", "certs", "reconciler", "uvicorn"]
    before = {name: logging.getLogger(name).level for name in changed}
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def effective() -> list[int]:
    return [logging.getLogger(name).getEffectiveLevel() for name in NAMES]


def test_the_level_holds_for_our_loggers_and_uvicorns() -> None:
    logs.configure("warning")
    assert effective() == [logging.WARNING] * len(NAMES)


def test_libraries_do_not_log_debug_messages_which_may_hold_secrets() -> None:
    logs.configure("debug")
    assert effective() == [logging.INFO, *[logging.DEBUG] * 4, logging.INFO]


def test_an_unknown_level_from_the_environment_is_refused_with_those_there_are() -> None:
    with pytest.raises(SettingsError, match='"loud" is not one of debug, info, warning, error'):
        logs.configure("loud")


@pytest.mark.parametrize("command", [["serve"], ["reconcile"], ["certs", "issue"]])
def test_every_command_that_keeps_running_has_the_flags(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--help"])
    printed = capsys.readouterr().out
    assert "--log-level {debug,info,warning,error}" in printed
    assert "--log-format {text,json}" in printed
