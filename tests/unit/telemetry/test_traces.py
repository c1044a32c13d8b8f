"""Traces go nowhere unless asked for, and say what is missing."""

import sys

import pytest
from opentelemetry import trace

from holdfast.telemetry.traces import TracingNotInstalled, tracing_to


def test_without_an_endpoint_nothing_is_set_up() -> None:
    before = trace.get_tracer_provider()
    with tracing_to(""):
        assert trace.get_tracer_provider() is before


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(TracingNotInstalled, match=r"pip install 'holdfast\[otlp\]'"):  # noqa: SIM117
        with tracing_to("http://localhost:4318"):
            raise AssertionError("entered")
