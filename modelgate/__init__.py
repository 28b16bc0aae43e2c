"""The installed package: the command, and the way to the packages of the repository.

In a wheel, `webhook`, `certs`, `policies` and `reconciler` are in the folder ``packages`` beside this file, so that
their common names are not loose in ``site-packages``. ``import modelgate`` puts that folder on the path; then
``import webhook.cel.runner`` works as in a checkout, where there is no such folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["main"]

_PACKAGES = Path(__file__).parent / "packages"

if _PACKAGES.is_dir() and str(_PACKAGES) not in sys.path:
    sys.path.insert(0, str(_PACKAGES))


def main() -> int:
    """Run the command `modelgate`."""
    try:
        from webhook.cli import main as run  # noqa: PLC0415 - found only now
    except KeyboardInterrupt:
        return 130
    return run()
