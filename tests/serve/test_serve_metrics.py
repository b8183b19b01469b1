"""Counters in the text format of Prometheus."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")

from nomina.serve.metrics import WIDTH, Metrics


def values(text: str) -> dict[str, str]:
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def test_workers_count_together_and_one_that_is_replaced_counts_on() -> None:
    cells = [0.0] * (2 * WIDTH)
    first, second = Metrics(cells, 0), Metrics(cells, 1)
    first.add("nomina_documents_total", 3)
    second.add("nomina_documents_total", 4)
    second.set("nomina_queue_documents", 9)
    again = Metrics(cells, 1)
    again.add("nomina_documents_total", 10)
    found = values(first.text({}))
    assert found == values(again.text({}))
    assert (found["nomina_documents_total"], found["nomina_queue_documents"]) == ("17", "0")


def test_requests_are_counted_by_path_and_status_and_those_to_link_by_seconds() -> None:
    metrics = Metrics()
    for status, seconds in ((200, 0.004), (200, 0.2), (200, 100.0), (418, 0.03)):
        metrics.request("/link", status, seconds)
    metrics.request("/search", 200, 5)
    found = values(metrics.text({}))
    assert found['nomina_requests_total{path="/link",status="200"}'] == "3"
    assert found['nomina_requests_total{path="/link",status="other"}'] == "1"
    assert found['nomina_requests_total{path="/search",status="200"}'] == "1"
    buckets = {bound: found[f'nomina_link_seconds_bucket{{le="{bound}"}}'] for bound in ("0.005", "0.05", "60", "+Inf")}
    assert buckets == {"0.005": "1", "0.05": "2", "60": "3", "+Inf": "4"}
    assert (found["nomina_link_seconds_count"], found["nomina_link_seconds_sum"]) == ("4", "100.234000")


def test_labels_are_escaped_and_large_counts_whole() -> None:
    metrics = Metrics()
    metrics.add("nomina_mentions_total", 123_456_789)
    text = metrics.text({"kb": 'a "b"\\\nc'})
    assert 'nomina_info{kb="a \\"b\\"\\\\\\nc"} 1\n' in text
    assert "\nnomina_mentions_total 123456789\n" in text
    kinds = [line.split()[2:] for line in text.splitlines() if line.startswith("# TYPE")]
    assert ["nomina_link_seconds", "histogram"] in kinds
    assert ["nomina_queue_documents", "gauge"] in kinds
