"""The log of a long-running command: as text or as JSON, and a level for Modelgate's loggers and uvicorn's."""

from __future__ import annotations

import argparse
import json
import logging
from datetime import UTC, datetime
from typing import Final

from webhook.admission.errors import Problem, SettingsError

LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("text", "json")

_LOGGERS: Final = ("modelgate", "webhook", "certs", "reconciler", "uvicorn")
"""Only these log debug messages: the debug log of the Kubernetes client holds whole responses, Secrets among them."""


def add_arguments(parser: argparse.ArgumentParser, level: str | None = "info", form: str | None = "text") -> None:
    """Declare ``--log-level`` and ``--log-format``; a default of None leaves the choice to the command's settings."""
    parser.add_argument("--log-level", choices=LEVELS, default=level, help="what to log (default info)")
    parser.add_argument(
        "--log-format", choices=FORMATS, default=form, help="log lines as text (default) or as JSON objects"
    )


def configure(level: str, form: str = "text") -> None:
    """Log to standard error from this level on, as text or as JSON.

    Raises:
        SettingsError: an unknown level or format, from an environment variable.
    """
    for flag, word, known in (("level", level, LEVELS), ("format", form, FORMATS)):
        if word not in known:
            what = f'"{word}" is not one of {", ".join(known)}'
            raise SettingsError([Problem(f"--log-{flag} (MODELGATE_LOG_{flag.upper()})", "", what)])
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if form == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonFormatter())
    logging.getLogger().setLevel(max(number, logging.INFO))
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(number)


class JsonFormatter(logging.Formatter):
    """``time``, ``level``, ``logger`` and ``message``; then the fields that a decision has, and a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)
