"""Readings of the audit of a judge."""

from dissensus.pipeline.judge.audit.rows import AuditRow
from dissensus.report.judge import _read_effects

REPEAT = AuditRow(metric="changed", probe="repeat", estimate=0.031)


def test_another_seed_alone_is_no_change_of_presentation() -> None:
    assert _read_effects([REPEAT]) == "Another seed alone turns 3.1 % of answers; nothing else was changed."
    reading = _read_effects([REPEAT, AuditRow(metric="changed", probe="options", estimate=0.2)])
    assert reading.startswith("Of all changes but the seed, ")
    assert reading.endswith("turns most answers: 20.0 %; another seed alone 3.1 %.")
