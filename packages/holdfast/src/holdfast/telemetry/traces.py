"""Traces: where the spans of this process go; nowhere, unless an endpoint is set.

Code that traces asks `opentelemetry.trace` for a tracer, which does nothing until a provider is set
here. Only this file knows the SDK.
"""

from collections.abc import Generator
from contextlib import contextmanager
from importlib import metadata
from typing import Final

from opentelemetry import trace

FLUSH_MS: Final = 2_000
"""How long leaving waits for the collector: it must not hold up a deploy."""
EXPORT_S: Final = 5.0


class TracingNotInstalled(Exception):
    def __init__(self) -> None:
        super().__init__("Traces need a further package: pip install 'holdfast[otlp]'.")


@contextmanager
def tracing_to(endpoint: str) -> Generator[None]:
    """Spans go to `endpoint`, as OTLP over HTTP, until the block is left; empty: nowhere.

    Once per process: OpenTelemetry has no way back.
    """
    if not endpoint:
        yield
        return
    # Here, not above: who wants no traces need not load what sends them, nor install it.
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise TracingNotInstalled from error
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    version = metadata.version("holdfast")
    provider = TracerProvider(
        resource=Resource.create({"service.name": "holdfast", "service.version": version}),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces", timeout=EXPORT_S)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.force_flush(FLUSH_MS)
        provider.shutdown()
