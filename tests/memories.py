"""What the gate remembers of objects that it has judged, for tests that do without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from webhook.engine import children
from webhook.engine.placement import findings as of_fit
from webhook.engine.pods import findings as of_pods
from webhook.engine.seen import Judgements

MEMORIES = ((of_pods, "RIGHT"), (children, "RIGHT"), (children, "JUDGED"), (of_fit, "JUDGED"))
"""The modules that have one, with its name there."""


@contextmanager
def nothing_remembered() -> Iterator[None]:
    """With memories of its own, which are empty."""
    with ExitStack() as stack:
        for module, name in MEMORIES:
            stack.enter_context(patch.object(module, name, Judgements()))
        yield
