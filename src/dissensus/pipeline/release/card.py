"""Card of a release for people and for Hugging Face, and its citation file."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from dissensus.pipeline.release.croissant import cite_release
from dissensus.pipeline.release.description import ReleaseDescription
from dissensus.pipeline.release.source_notices import describe_source_notices
from dissensus.schema.records.image import IMAGE, IMAGE_ALT

SIZES: Final = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
)
"""Size categories of Hugging Face, each with the number of rows that it stays below."""


def write_card(release: ReleaseDescription, *, path: str, files: Sequence[str]) -> str:
    """Return README.md of a folder that `datasets.load_dataset` opens."""
    return "\n".join(_lines(release, path, files)) + "\n"


def _lines(release: ReleaseDescription, path: str, files: Sequence[str]) -> Iterator[str]:
    plan = release.plan
    yield "---"
    yield from _header(release, path, files)
    yield "---"
    yield ""
    yield f"# {release.title}"
    yield ""
    yield f"Version {plan.version}, {plan.released.isoformat()}. {plan.licence}. Contact: {plan.contact}"
    yield ""
    yield f"> **Content warning.** {_join(release.warning)}"
    yield ""
    yield _summarise(release)
    yield ""
    yield from describe_source_notices(release.notices)
    yield "**Uses.** " + _join(plan.answers.get("uses", ""))
    yield ""
    yield "**Not permitted.** " + _join(plan.answers.get("misuses", ""))
    yield ""
    yield "Do not try to find out who a rater is. Take the latest version and delete earlier ones: raters may withdraw."
    yield ""
    yield "```python"
    yield "from datasets import load_dataset"
    yield ""
    yield 'ratings = load_dataset(".")["train"]'
    yield "```"
    yield ""
    yield "`dissensus report .` writes a report on it, `dissensus validate .` checks the folder, and"
    yield f"`hf upload OWNER/{plan.name} . --repo-type dataset` publishes it. Texts in the CSV are unchanged: open"
    yield "it with software for data rather than a spreadsheet, which may read a text as a formula."
    yield ""
    yield from _list_files(release, files)
    yield ""
    yield f"Cite as: {cite_release(release)}"


def _list_files(release: ReleaseDescription, files: Sequence[str]) -> Iterator[str]:
    yield "| File | Content |"
    yield "|---|---|"
    yield "| `data/ratings.csv`, `data/ratings.parquet` | the ratings, twice |"
    if any(file.startswith("pairs/") for file in files):
        yield "| `pairs/` | chosen and rejected responses, as hh-rlhf has them, with Parquet twins and the policy |"
    if any(file.startswith("red_team_attempts") for file in files):
        yield (
            "| `red_team_attempts.jsonl.gz`, `red_team_attempts.parquet` | conversations as red-team attempts, as "
            "hh-rlhf has them, twice |"
        )
    if IMAGE in release.columns:
        yield f"| `images/` | images of items, by their `{IMAGE}`; `{IMAGE_ALT}` says what each shows |"
    yield "| `datasheet.md` | what happened, and what not to do with it |"
    yield "| `croissant.json` | metadata for programs (Croissant 1.1, RAI 1.0) |"
    yield "| `CHANGES.md` | changes since the version before |"
    yield "| `CITATION.cff`, `LICENSE.md` | how to cite, and on which terms to use it |"
    yield "| `release.json` | the checks of the release with their evidence and signatures |"
    yield "| `SHA256SUMS` | digests of all files: `sha256sum -c SHA256SUMS` |"


def _summarise(release: ReleaseDescription) -> str:
    if release.by_authors:
        return (
            f"{release.n_ratings:,} messages of {release.n_raters:,} raters to chatbots, with the responses to each\n"
            "and what their author said of them, one row each."
        )
    return (
        f"{release.n_ratings:,} ratings of {release.n_items:,} items by {release.n_raters:,} raters, one row each.\n"
        "Raters disagree, and their disagreement is kept: no answer is the true one."
    )


def _header(release: ReleaseDescription, path: str, files: Sequence[str]) -> Iterator[str]:
    """Yield the YAML of a dataset card. JSON texts are YAML."""
    size = next((name for most, name in SIZES if release.n_ratings < most), "100M<n<1B")
    values: dict[str, Any] = {
        "pretty_name": release.title,
        "license": release.plan.licence.lower(),
        "language": list(release.languages),
        "size_categories": [size],
        "task_categories": ["text-classification"],
        "tags": ["croissant", "disagreement", "safety", "not-for-all-audiences"],
        "configs": [{"config_name": "default", "data_files": path}, *_derived_configs(files)],
    }
    yield from (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items() if value)


def _derived_configs(files: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield one configuration for each tranche of pairs, with its splits, and one for attempts."""
    twins = [file for file in files if file.startswith("pairs/") and file.endswith(".parquet")]
    for folder in dict.fromkeys(file.rpartition("/")[0] for file in twins):
        splits = [
            {"split": file.rpartition("/")[2].removesuffix(".parquet"), "path": file}
            for file in twins
            if file.rpartition("/")[0] == folder
        ]
        yield {"config_name": folder.rpartition("/")[2], "data_files": splits}
    for file in files:
        if file.startswith("red_team_attempts") and file.endswith(".parquet"):
            yield {"config_name": file.removesuffix(".parquet"), "data_files": file}


def _join(text: str) -> str:
    return " ".join(text.split())


def write_citation(release: ReleaseDescription) -> str:
    """Return CITATION.cff (Citation File Format 1.2.0)."""
    plan = release.plan
    lines = [
        "cff-version: 1.2.0",
        "message: If you use this dataset, please cite it.",
        "type: dataset",
        f"title: {_quote(release.title)}",
        f"version: {_quote(plan.version)}",
        f"date-released: {plan.released.isoformat()}",
        f"license: {_quote(plan.licence)}",
        "authors:",
        *(f"  - name: {_quote(name)}" for name in plan.creators),
    ]
    return "\n".join(lines) + "\n"


def write_licence(release: ReleaseDescription) -> str:
    """Return LICENSE.md with the terms of use."""
    plan = release.plan
    return (
        f"{release.title}, version {plan.version}, by {', '.join(plan.creators)}.\n\n"
        f"Licence: [{plan.licence}](https://spdx.org/licenses/{plan.licence}.html)\n\n"
        f"What others contributed stays under their terms: {_join(plan.answers.get('items_source', ''))}\n\n"
        + "".join(f"{line}\n" for line in describe_source_notices(release.notices))
    ).rstrip() + "\n"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
