"""Prometheus metrics of requests and of the platform."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from dissensus.errors import DissensusError
from dissensus.workflows.campaign import overview
from dissensus.workflows.platform.platform import Platform

MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder that all workers share; set before they start."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Request counters without personal data."""

    registry: CollectorRegistry
    requests: Counter  # By method, route and status
    seconds: Histogram  # By method and route
    deliveries: Counter  # Of webhooks, by outcome

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response."""
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)

    def count_delivery(self, outcome: str) -> None:
        """Count a webhook delivery."""
        self.deliveries.labels(outcome).inc()

    def export(self, platform: Platform) -> bytes:
        """Return the metrics of all workers and of the platform in the Prometheus format."""
        registry = CollectorRegistry()
        if MULTIPROCESS_VARIABLE in os.environ:
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        else:
            registry.register(_WorkerCollector(self.registry))
        registry.register(_PlatformCollector(platform))
        return generate_latest(registry)


def make_metrics() -> Metrics:
    """Create the metrics of a worker."""
    registry = CollectorRegistry()
    requests = Counter("dissensus_requests", "Requests answered.", ["method", "route", "status"], registry=registry)
    seconds = Histogram("dissensus_request_seconds", "Time to answer.", ["method", "route"], registry=registry)
    deliveries = Counter("dissensus_deliveries", "Deliveries to webhooks.", ["outcome"], registry=registry)
    return Metrics(registry, requests, seconds, deliveries)


def metrics_of(request: Request) -> Metrics:
    """Return the metrics of the worker that handles a request."""
    metrics: Metrics = request.app.state.metrics
    return metrics


class _WorkerCollector(Collector):
    """Collector of the counts of one worker."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        yield from self._registry.collect()


class _PlatformCollector(Collector):
    """Collector of database totals, read at scrape time."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("dissensus_database_up", "1 if the database answers, else 0.")
        try:
            counts = overview.count_platform(self._platform)
        except DissensusError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        saves = CounterMetricFamily("dissensus_saves", "Saves of answers received, by the number of the last one.")
        saves.add_metric([], counts.n_saves)
        yield saves
        raters = GaugeMetricFamily("dissensus_raters", "Raters by standing.", labels=["standing"])
        for standing, n in counts.raters.items():
            raters.add_metric([standing], n)
        yield raters
        webhooks = GaugeMetricFamily("dissensus_webhooks", "Webhooks by state.", labels=["state"])
        for state, n in counts.webhooks.items():
            webhooks.add_metric([state], n)
        yield webhooks
