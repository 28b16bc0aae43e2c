"""The short way of a review: a complete, plain request is answered while its bytes are parsed, without a task.

It answers only what it can answer with 200 and without waiting. Everything else, every error included, goes the
ordinary way (:mod:`webhook.serve.app`), which judges it again, counts and logs it: nothing is counted here before the
reply is written.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from starlette.types import Scope

from webhook.admission.errors import RequestError
from webhook.serve.app import MAX_TIMEOUT
from webhook.serve.callers import Callers, covered
from webhook.serve.gate import Gate
from webhook.serve.gate.state import Call
from webhook.serve.http.answers import PEER
from webhook.serve.http.bodies import PIECE
from webhook.serve.http.immediate import Answer

_URL: Final = re.compile(rb"/(mutate|validate)(?:\?timeout=(\d{1,3})s)?")
"""What the API server sends; its other spellings of a timeout are rare."""

_URLS: Final = 64
"""URLs remembered: an API server uses one for each webhook."""


class Direct:
    """Answers reviews for one gate; ``callers`` decides who may send them."""

    def __init__(self, gate: Gate, callers: Callers) -> None:
        self._gate = gate
        self._callers = callers

    def takes(self, url: bytes) -> bool:
        """Whether requests of this URL may be answered now."""
        return not self._gate.readiness.draining and _called(url) is not None

    def answer(self, scope: Scope, url: bytes, body: bytes) -> Answer | None:
        """The answer to a review; None if only the ordinary way can answer it."""
        called = _called(url)
        if called is None or self._gate.readiness.draining:
            return None
        call, patience = called
        groups = self._callers.admitted(scope)
        if groups is None:
            return None
        if PEER.get() is not scope["client"]:
            PEER.set(scope["client"])  # it stays: each connection has a context of its own
        try:
            covered(groups, body)
            answer = self._gate.reply_now(call, body, patience)
        except RequestError:
            return None
        return None if answer is None or len(answer[0]) > PIECE else answer


@lru_cache(_URLS)
def _called(url: bytes) -> tuple[Call, float | None] | None:
    """The call and the caller's timeout in seconds; None for a URL of another form."""
    match = _URL.fullmatch(url)
    if match is None:
        return None
    seconds = None if match[2] is None else min(float(match[2]), MAX_TIMEOUT)
    return ("mutate" if match[1] == b"mutate" else "validate"), seconds
