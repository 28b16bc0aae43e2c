"""The log of a long-running command: one format, and a level for Modelgate's loggers and uvicorn's."""

from __future__ import annotations

import argparse
import logging
from typing import Final

from webhook.admission import Problem, SettingsError
from webhook.cli.jsonlog import JsonFormatter

__all__ = ["LEVELS", "add_argument", "configure"]

LEVELS: Final = ("debug", "info", "warning", "error")

_LOGGERS: Final = ("modelgate", "webhook", "certs", "reconciler", "uvicorn")
"""Only these log debug messages: the debug log of the Kubernetes client holds whole responses, Secrets among them."""


def add_argument(parser: argparse.ArgumentParser, default: str | None = "info") -> None:
    """Declare ``--log-level``; a default of None leaves the choice to the command's settings."""
    parser.add_argument("--log-level", choices=LEVELS, default=default, help="what to log (default info)")


def configure(level: str, form: str = "text") -> None:
    """Log to standard error from this level on, as text or as JSON.

    Raises:
        SettingsError: an unknown level, from an environment variable.
    """
    if level not in LEVELS:
        expected = ", ".join(LEVELS)
        raise SettingsError([Problem("--log-level (MODELGATE_LOG_LEVEL)", "", f'"{level}" is not one of {expected}')])
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if form == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonFormatter())
    logging.getLogger().setLevel(max(number, logging.INFO))
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(number)
