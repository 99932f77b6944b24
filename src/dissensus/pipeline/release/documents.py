"""Documents of a release beside its data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dissensus.pipeline.release.card import write_card, write_citation, write_licence
from dissensus.pipeline.release.changes import ReleaseChanges, write_changes
from dissensus.pipeline.release.croissant import write_croissant
from dissensus.pipeline.release.datasheet import write_datasheet
from dissensus.pipeline.release.description import DataFile, ReleaseDescription
from dissensus.pipeline.release.gate import ReleaseVerdict

CSV: Final = "data/ratings.csv"
PARQUET: Final = "data/ratings.parquet"
PAIRS: Final = "pairs"
"""Folder of pairs, as hh-rlhf has them."""
IMAGES: Final = "images"
"""Folder of images, by the names that item_image has."""
ATTEMPTS: Final = "red_team_attempts.jsonl.gz"
ATTEMPTS_TWIN: Final = "red_team_attempts.parquet"
RECORD: Final = "release.json"
INTERNAL: Final = ("internal", "code")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesBefore:
    """The version before, and what changed since."""

    version: str
    changes: ReleaseChanges


def write_documents(
    release: ReleaseDescription,
    verdict: ReleaseVerdict,
    before: ChangesBefore | None,
    data: Mapping[str, DataFile],
) -> dict[str, str]:
    """Return the texts of all documents by path, given the files with data."""
    changes = (None, None) if before is None else (before.version, before.changes)
    return {
        "README.md": write_card(release, path=PARQUET, files=tuple(data)),
        "datasheet.md": write_datasheet(release),
        "croissant.json": write_croissant(release, path=CSV, files=data),
        "CITATION.cff": write_citation(release),
        "LICENSE.md": write_licence(release),
        "CHANGES.md": write_changes(release.plan.version, *changes),
        RECORD: json.dumps(_record(release, verdict), ensure_ascii=False, indent=2) + "\n",
    }


def _record(release: ReleaseDescription, verdict: ReleaseVerdict) -> Mapping[str, Any]:
    """Return what programs read of a release.

    Loss, internal evidence, and codes, which can be computed from guesses of it, tell of raters who are left out.
    """
    plan, facts = release.plan, release.facts
    return {
        "schema_version": 1,
        "name": plan.name,
        "version": plan.version,
        "released": plan.released.isoformat(),
        "software": release.software,
        "question": release.question,
        "ratings": release.n_ratings,
        "raters": release.n_raters,
        "items": release.n_items,
        "key": release.fingerprint,
        "linked_to": list(plan.linked_to),
        "k": plan.anonymity.k,
        "l": plan.anonymity.l,
        "timestamps": plan.timestamps,
        "round_times_ms": plan.round_times_ms,
        "campaign": None if release.campaign is None else release.campaign.digest,
        "log": None if facts is None else {"head": facts.head, "events": facts.n_events},
        "checks": [
            {key: value for key, value in check.items() if key not in INTERNAL}
            for check in verdict.as_mapping()["checks"]
        ],
    }
