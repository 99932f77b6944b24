"""What is measured of requests, and of the platform, for Prometheus."""

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

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder that several workers count in; set before they start."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts requests, without a word on who sent them."""

    registry: CollectorRegistry
    requests: Counter  # By method, route and status; by method and route
    seconds: Histogram
    deliveries: Counter  # To webhooks, by outcome

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)

    def count_delivery(self, outcome: str) -> None:
        """Count what came of a delivery."""
        self.deliveries.labels(outcome).inc()

    def text(self, platform: Platform) -> bytes:
        """Return all numbers as Prometheus reads them: those of all workers, and those of the platform."""
        asked = CollectorRegistry()
        if SHARED in os.environ:
            MultiProcessCollector(asked)  # type: ignore[no-untyped-call]
        else:
            asked.register(_Counted(self.registry))
        asked.register(_Counting(platform))
        return generate_latest(asked)


def make_metrics() -> Metrics:
    """Return the metrics of a worker, at zero."""
    registry = CollectorRegistry()
    requests = Counter("dissensus_requests", "Requests answered.", ["method", "route", "status"], registry=registry)
    seconds = Histogram("dissensus_request_seconds", "Time to answer.", ["method", "route"], registry=registry)
    deliveries = Counter("dissensus_deliveries", "Deliveries to webhooks.", ["outcome"], registry=registry)
    return Metrics(registry, requests, seconds, deliveries)


def metrics_of(request: Request) -> Metrics:
    """Return the metrics of the worker that a request came to."""
    metrics: Metrics = request.app.state.metrics
    return metrics


class _Counted(Collector):
    """What one worker counted."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        yield from self._registry.collect()


class _Counting(Collector):
    """What the database knows, counted when it is asked for: right for all workers, and after a restart."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("dissensus_database_up", "Whether the database answers.")
        try:
            tally = overview.count_platform(self._platform)
        except DissensusError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        saves = CounterMetricFamily("dissensus_saves", "Saves of answers received, by the number of the last one.")
        saves.add_metric([], tally.n_saves)
        yield saves
        raters = GaugeMetricFamily("dissensus_raters", "Raters by standing.", labels=["standing"])
        for standing, n in tally.raters.items():
            raters.add_metric([standing], n)
        yield raters
        webhooks = GaugeMetricFamily("dissensus_webhooks", "Webhooks by state.", labels=["state"])
        for state, n in tally.webhooks.items():
            webhooks.add_metric([state], n)
        yield webhooks
