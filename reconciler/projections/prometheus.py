"""The load of a model, as vLLM reports it to Prometheus.

Rates are of the last minute. A sample of Prometheus may be NaN; it counts as none. A rate below 0 counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import orjson
import urllib3

from reconciler.projections.inferno import Load

TIMEOUT: Final = 5.0
"""Seconds for one query."""

LIMIT: Final = 1 << 20
"""Bytes of an answer: one sample has some hundred."""

COUNT: Final = "vllm:request_success_total"

Transport = Callable[[str], bytes]
"""The body of the answer to a query; raises OSError or urllib3's HTTPError."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A load, or why there is none: ``error`` (no answer), no ``age`` (no series), or an old one.

    ``age`` is that of the newest sample, in seconds. ``served`` are the requests of the retention of scale to zero,
    None if it is off or unknown.
    """

    load: Load | None = None
    age: float | None = None
    error: str = ""
    served: float | None = None


class Prometheus:
    """Queries over a transport. ``retention`` in seconds is how long a model must be idle to be scaled to zero."""

    def __init__(self, transport: Transport, retention: int = 0) -> None:
        self._transport = transport
        self._retention = retention

    def measure(self, model: str, namespace: str) -> Measured:
        """The load of a model in a namespace; else by the series without such a label, never by another namespace's."""
        try:
            for selector in (_selector(model, namespace), _selector(model, "")):
                age = self._value(f"min(time() - timestamp({COUNT}{selector}))")
                if age is not None:
                    return self._measured(selector, age)
        except (OSError, urllib3.exceptions.HTTPError, ValueError, LookupError, TypeError, AttributeError) as error:
            return Measured(error=f"{type(error).__name__}: {error}"[:300])
        return Measured()

    def _measured(self, selector: str, age: float) -> Measured:
        rate = max(self._value(f"sum(rate({COUNT}{selector}[1m]))") or 0.0, 0.0)
        tokens = [int(self._ratio(name, selector)) for name in ("request_prompt_tokens", "request_generation_tokens")]
        served = None
        if self._retention:
            served = self._value(f"sum(increase({COUNT}{selector}[{self._retention}s]))")
        return Measured(Load(rate * 60, *tokens), age, served=served)

    def _ratio(self, name: str, selector: str) -> float:
        parts = (f"sum(rate(vllm:{name}_{part}{selector}[1m]))" for part in ("sum", "count"))
        return max(self._value(" / ".join(parts)) or 0.0, 0.0)

    def _value(self, query: str) -> float | None:
        """The first sample of an instant vector; None if there is none, or if it is not finite."""
        answer: dict[str, Any] = orjson.loads(self._transport(query))
        if answer["status"] != "success":
            raise ValueError(str(answer.get("error", "no answer")))
        samples = answer["data"]["result"]
        value = float(samples[0]["value"][1]) if samples else math.nan
        return value if math.isfinite(value) else None


def over_http(address: str) -> Transport:
    """Queries to the HTTP API of a Prometheus at this address."""
    pool = urllib3.PoolManager(timeout=TIMEOUT, retries=False)

    def get(query: str) -> bytes:
        url = f"{address.rstrip('/')}/api/v1/query?{urlencode({'query': query})}"
        response = pool.request("GET", url, preload_content=False)
        try:
            body: bytes = response.read(LIMIT)
        finally:
            response.release_conn()
        if response.status >= 500 or not body.startswith(b"{"):
            raise ValueError(f"HTTP status {response.status}")
        return body

    return get


def _selector(model: str, namespace: str) -> str:
    """Series of a model and a namespace; an empty text selects those without the label (Prometheus' matchers)."""
    labels = {"model_name": model, "namespace": namespace}
    return "{" + ",".join(f"{name}={orjson.dumps(value).decode()}" for name, value in labels.items()) + "}"
