"""Traces join the trace of the API server; without its `traceparent` there are none."""

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from starlette.testclient import TestClient

from tests.serve.test_app import a_review
from webhook.catalog import Catalog, Kinds
from webhook.serve.app import application
from webhook.serve.gate import Gate
from webhook.serve.tracing import Tracing

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def memory() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def client(memory: InMemorySpanExporter) -> TestClient:
    provider = TracerProvider(sampler=ParentBased(ALWAYS_OFF))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracing = Tracing(provider)
    return TestClient(tracing.around(application(Gate(catalog=Catalog(Kinds({}), "digest"), stage=tracing.stage))))


def parent(span: ReadableSpan) -> int:
    assert span.parent is not None
    return span.parent.span_id


def test_a_review_joins_the_trace_of_the_api_server(client: TestClient, memory: InMemorySpanExporter) -> None:
    answer = client.post("/validate", json=a_review(), headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    assert answer.status_code == 200
    *stages, review = memory.get_finished_spans()
    assert [each.name for each in stages] == ["decode", "decide", "encode"]
    assert review.name == "validate"
    assert review.attributes == {"http.response.status_code": 200}
    assert parent(review) == int(PARENT, 16)
    assert {each.context.trace_id for each in (*stages, review)} == {int(TRACE, 16)}
    assert {parent(each) for each in stages} == {review.context.span_id}


@pytest.mark.parametrize("headers", [{}, {"traceparent": f"00-{TRACE}-{PARENT}-00"}, {"traceparent": "nonsense"}])
def test_what_the_api_server_does_not_trace_has_no_span(
    client: TestClient, memory: InMemorySpanExporter, headers: dict[str, str]
) -> None:
    assert client.post("/validate", json=a_review(), headers=headers).status_code == 200
    assert client.get("/healthz").status_code == 200
    assert memory.get_finished_spans() == ()
