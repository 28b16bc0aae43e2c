"""OpenTelemetry traces: a span for each review, in the trace that the API server's ``traceparent`` names.

The packages of the extra ``modelgate[tracing]`` are imported only here, and only if there is an endpoint.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webhook.admission.errors import Problem, SettingsError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

CALLS: Final = frozenset({"/mutate", "/validate"})


class Tracing:
    """Spans of one provider: one for each review, and one for each of its stages (decode, decide, encode)."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415 - optional

        self._tracer = provider.get_tracer("modelgate")
        self._propagator = TraceContextTextMapPropagator()
        self._provider = provider

    def stage(self, name: str) -> AbstractContextManager[object]:
        """A span of a stage, inside the span of the review."""
        return self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False)

    def around(self, app: ASGIApp) -> ASGIApp:
        """The application with a span for each review; health and metrics have none."""

        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"] not in CALLS:
                await app(scope, receive, send)
                return
            with self._review(scope) as span:

                async def noting(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        span.set_attribute("http.response.status_code", message["status"])
                    await send(message)

                await app(scope, receive, noting)

        return traced

    @contextlib.asynccontextmanager
    async def running(self) -> Any:
        """Send the last spans when the context ends."""
        try:
            yield
        finally:
            self._provider.shutdown()

    @contextlib.contextmanager
    def _review(self, scope: Scope) -> Iterator[Any]:
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - optional

        wanted = (b"traceparent", b"tracestate")
        carrier = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in wanted}
        context = self._propagator.extract(carrier)
        name = scope["path"].removeprefix("/")
        with self._tracer.start_as_current_span(name, context=context, kind=SpanKind.SERVER) as span:
            yield span


def exported(endpoint: str) -> Tracing:
    """Traces that go to an OTLP collector over HTTP, such as ``http://collector:4318/v1/traces``.

    Spans are sent by a thread, in batches; a collector that does not answer delays no review.

    Raises:
        SettingsError: the packages are not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - optional
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased  # noqa: PLC0415
    except ImportError as error:
        missing = Problem("--trace-endpoint (MODELGATE_TRACE_ENDPOINT)", "", f"install modelgate[tracing]: {error}")
        raise SettingsError([missing]) from None
    # The API server decides which requests are traced: a span without its parent would explain nothing.
    provider = TracerProvider(sampler=ParentBased(ALWAYS_OFF), resource=Resource.create({"service.name": "modelgate"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return Tracing(provider)
