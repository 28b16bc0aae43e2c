"""The exit codes of all commands."""

from __future__ import annotations

from typing import Final

__all__ = ["FAILED", "FINDINGS", "GOOD", "INTERRUPTED", "PIPE", "USAGE"]

GOOD: Final = 0
"""Nothing is wrong."""
FINDINGS: Final = 1
"""Something is refused, a case fails, or there are warnings and --fail-on=warning."""
FAILED: Final = 2
"""The command cannot judge: a file cannot be read, or nothing is found."""
USAGE: Final = 64
"""The command line or the configuration is wrong (EX_USAGE of sysexits.h)."""
INTERRUPTED: Final = 130
"""Stopped by Ctrl-C, as a shell reports it."""
PIPE: Final = 141
"""The reader of the output has stopped reading, as a shell reports it."""
