"""Croissant 1.1 metadata of a release, with the vocabulary of responsible AI (RAI 1.0)."""

import json
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from dissensus.pipeline.release.columns import list_published_answers
from dissensus.pipeline.release.description import DataFile, ReleaseDescription
from dissensus.pipeline.release.source_notices import describe_source_notices

CONTEXT: Final[Mapping[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
CONFORMS_TO: Final = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
FILE_ID: Final = "ratings-csv"
RECORDS: Final = "ratings"
_FORMATS: Final = {".csv": "text/csv", ".parquet": "application/x-parquet", ".jsonl.gz": "application/gzip"}


def write_croissant(release: ReleaseDescription, *, path: str, files: Mapping[str, DataFile]) -> str:
    """Return the metadata of a release: its files by digest and size, and the fields of the CSV of a path."""
    plan = release.plan
    metadata = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": plan.name,
        "description": f"{release.title}. {release.n_ratings:,} ratings of {release.n_items:,} items by "
        f"{release.n_raters:,} raters. {release.warning}".strip(),
        "conformsTo": list(CONFORMS_TO),
        # Croissant asks for versions of three parts.
        "version": f"{plan.version}.0" if plan.version.count(".") == 1 else plan.version,
        "datePublished": plan.released.isoformat(),
        "license": f"https://spdx.org/licenses/{plan.licence}.html",
        "url": plan.contact if plan.contact.startswith("http") else f"mailto:{plan.contact}",
        "citeAs": cite_release(release),
        "creator": [{"@type": "sc:Person", "name": name} for name in plan.creators],
        "inLanguage": list(release.languages),
        **_responsible_ai(release),
        "distribution": [
            _file(name, file, file_id=FILE_ID if name == path else name)
            for name, file in files.items()
            if name.endswith(tuple(_FORMATS))
        ],
        "recordSet": [
            _record_set(RECORDS, release.columns, FILE_ID),
            *(
                _record_set(name.removesuffix(".parquet"), file.columns, name)
                for name, file in files.items()
                if file.columns is not None and name.removesuffix(".parquet") != path.removesuffix(".csv")
            ),
        ],
    }
    return json.dumps(metadata, ensure_ascii=False, indent=2) + "\n"


def _file(path: str, file: DataFile, *, file_id: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file_id,
        "name": path,
        "contentUrl": path,
        "encodingFormat": next(kind for end, kind in _FORMATS.items() if path.endswith(end)),
        "contentSize": f"{file.size} B",
        "sha256": file.sha256,
    }


def cite_release(release: ReleaseDescription) -> str:
    """Return how to cite a release."""
    plan = release.plan
    title = release.title if release.title.endswith(("?", "!", ".")) else f"{release.title}."
    return f"{', '.join(plan.creators)} ({plan.released.year}). {title} Version {plan.version}."


def _responsible_ai(release: ReleaseDescription) -> dict[str, Any]:
    answers = release.plan.answers
    period = {}
    if release.facts is not None:
        period = {
            "rai:dataCollectionTimeframe": [
                f"{day:%Y-%m}-01" for day in (release.facts.first_day, release.facts.last_day)
            ]
        }
    groups = [f"{axis}: {', '.join(counts)}" for axis, counts in release.groups.items()]
    derived = release.campaign is not None and release.campaign.questionnaire.overalls
    rule = "; aggregates follow the rule of DICES" if derived else ""
    texts = {
        "rai:dataCollection": answers.get("items_source", ""),
        "rai:dataCollectionRawData": " ".join(describe_source_notices(release.notices)).strip(),
        "rai:dataCollectionType": ["Surveys"],
        "rai:dataAnnotationProtocol": f"Each rater answers {len(list_published_answers(release.columns))} "
        f"columns of questions about each item{rule}.",
        "rai:dataAnnotationPlatform": [release.software],
        "rai:annotationsPerItem": f"{release.n_ratings / max(release.n_items, 1):.1f} on average",
        "rai:annotatorDemographics": groups,
        "rai:dataUseCases": [answers.get("uses", "")],
        "rai:dataLimitations": ["Raters are not a random sample of any population.", answers.get("misuses", "")],
        "rai:personalSensitiveInformation": groups,
        "rai:dataReleaseMaintenancePlan": answers.get("maintenance", ""),
        "rai:dataSocialImpact": answers.get("impact", ""),
    }
    return {key: value for key, value in {**texts, **period}.items() if value and value != [""]}


def _record_set(name: str, columns: Mapping[str, pl.DataType], file_id: str) -> dict[str, Any]:
    """Return the records of a file; lists within cells are left to readers of Parquet."""
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [_field(name, column, dtype, file_id) for column, dtype in columns.items() if not dtype.is_nested()],
    }


def _field(records: str, name: str, dtype: pl.DataType, file_id: str) -> dict[str, Any]:
    kind = "sc:Boolean" if dtype == pl.Boolean else "sc:Integer" if dtype.is_integer() else "sc:Text"
    if dtype.is_float():
        kind = "sc:Float"
    return {
        "@type": "cr:Field",
        "@id": f"{records}/{name}",
        "name": name,
        "dataType": kind,
        "source": {"fileObject": {"@id": file_id}, "extract": {"column": name}},
    }
