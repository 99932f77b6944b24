"""Release gate: checks with evidence, and the verdict on all of them."""

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from dissensus.pipeline.release.statistics import ReleaseStatistic
from dissensus.schema.release.plan import ReleasePlan, Signature

CheckOutcome: TypeAlias = Literal["passed", "failed", "unsigned", "deferred"]
SHOWN_DIGITS: Final = 12
"""Digits by which a message names a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseCheck:
    """One check of a release."""

    name: str
    promise: str
    evidence: tuple[str, ...]  # public, from the published rows alone
    holds: bool
    internal: tuple[str, ...] = ()  # evidence on raters who are not in the release, never published
    remedy: str = ""  # if it does not hold
    judged: bool = False  # True if a person must look at the evidence and sign
    deferred: bool = False  # True on a site, which lacks what the check needs


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCheck:
    """A check with its outcome."""

    check: ReleaseCheck
    outcome: CheckOutcome
    code: str | None  # to sign, None if nobody needs to
    signed_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseVerdict:
    """The verdict of the gate."""

    checks: tuple[JudgedCheck, ...]
    loss: tuple[ReleaseStatistic, ...]  # internal: reveals raters who are left out
    people: int  # who sign each check that a person must judge

    @property
    def passed(self) -> bool:
        """True if the release may be written."""
        return all(judged.outcome == "passed" for judged in self.checks)

    @property
    def stands(self) -> bool:
        """True if all checks but the deferred ones passed."""
        return all(judged.outcome in ("passed", "deferred") for judged in self.checks)

    def as_mapping(self) -> dict[str, Any]:
        """Return the verdict as plain values for JSON."""
        return {
            "schema_version": 1,
            "passed": self.passed,
            "people": self.people,
            "checks": [_to_mapping(judged) for judged in self.checks],
            "loss": [{name: getattr(row, name) for name in row.__dataclass_fields__} for row in self.loss],
        }


def _to_mapping(judged: JudgedCheck) -> dict[str, Any]:
    check = judged.check
    return {
        "check": check.name,
        "outcome": judged.outcome,
        "promise": check.promise,
        "evidence": list(check.evidence),
        "internal": list(check.internal),
        "remedy": None if check.holds else check.remedy,
        "code": judged.code,
        "signed_by": list(judged.signed_by),
    }


def judge_release(
    checks: Sequence[ReleaseCheck],
    plan: ReleasePlan,
    content: str,
    loss: Sequence[ReleaseStatistic] = (),
    *,
    on_site: Sequence[Signature] = (),
) -> ReleaseVerdict:
    """Return the verdict on checks; `content` is the digest of what is published.

    The code of a check covers its evidence and the content, which includes the plan: after any change another signature
    is needed. Signatures on the site lapse silently, since nobody can remove them from its log.
    """
    signed_plan = replace(plan, signatures=(*plan.signatures, *on_site))
    judged = [_judge(check, signed_plan, content) for check in checks]
    judged.append(_judge(_check_signatures(plan.signatures, judged), plan, content))
    return ReleaseVerdict(checks=tuple(judged), loss=tuple(loss), people=plan.people)


def _judge(check: ReleaseCheck, plan: ReleasePlan, content: str) -> JudgedCheck:
    if check.deferred:
        return JudgedCheck(check=check, outcome="deferred", code=None, signed_by=())
    if not check.judged:
        return JudgedCheck(check=check, outcome="passed" if check.holds else "failed", code=None, signed_by=())
    code = code_evidence(check, content)
    signatures = [signature for signature in plan.signatures if (signature.check, signature.code) == (check.name, code)]
    people = tuple(dict.fromkeys(signature.by for signature in signatures))
    outcome: CheckOutcome = "passed" if len({_normalise_name(name) for name in people}) >= plan.people else "unsigned"
    return JudgedCheck(check=check, outcome=outcome if check.holds else "failed", code=code, signed_by=people)


def _normalise_name(name: str) -> str:
    """Return a name without differences that nobody sees.

    Examples
    --------
    >>> _normalise_name("Ada\u00a0 LOVELACE ")
    'ada lovelace'
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def code_evidence(check: ReleaseCheck, content: str) -> str:
    """Return the code by which a person signs the evidence of a check: a whole SHA-256, so that no two are alike."""
    text = "\n".join((check.name, content, check.promise, *check.evidence, *check.internal))
    return hashlib.sha256(text.encode()).hexdigest()


def _check_signatures(signatures: Sequence[Signature], judged: Sequence[JudgedCheck]) -> ReleaseCheck:
    codes = {result.check.name: result.code for result in judged if result.code is not None}
    stale = [signature for signature in signatures if codes.get(signature.check) != signature.code]
    return ReleaseCheck(
        name="signatures",
        promise="Every signature is of the evidence of this release.",
        evidence=(
            f"{len(signatures) - len(stale):,} signatures are of this evidence.",
            *(
                f"{signature.by} signed {signature.check} with the code {signature.code[:SHOWN_DIGITS]}, which is not "
                "its code."
                for signature in stale
            ),
        ),
        holds=not stale,
        remedy="Something changed after they signed, or the check has no signature. Let them look again, and replace "
        "or remove the signature.",
    )
