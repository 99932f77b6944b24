"""Token buckets of links and addresses, shared by all workers; those of raters are columns of their rows."""

from sqlalchemy import BigInteger, ColumnElement, Connection, bindparam, case, delete, func, select
from sqlalchemy.orm import InstrumentedAttribute, Mapped, mapped_column

from dissensus.campaign.rate_limits import RateLimit
from dissensus.store.core.orm import HASH, Base, dialect_insert


class RateLimitTable(Base):
    """Token bucket of a link or an address."""

    __tablename__ = "rate_limit"

    fingerprint: Mapped[str] = mapped_column(
        HASH, primary_key=True, doc="HMAC of the address under the secret key, or hash of the link."
    )
    full_at_ms: Mapped[int] = mapped_column(
        BigInteger, index=True, doc="Time when the bucket is full again, in milliseconds since 1970."
    )


def take_expression(full_at_ms: InstrumentedAttribute[int]) -> ColumnElement[int]:
    """Return when a bucket is full again after a request, with the parameters of `take_parameters`."""
    now, latest, cost = (bindparam(name, type_=BigInteger) for name in ("now_ms", "latest_ms", "cost_ms"))
    # A bucket is later than `latest` only if a clock was set back.
    return case((cost == 0, full_at_ms), (full_at_ms.between(now, latest), full_at_ms + cost), else_=now + cost)


def take_parameters(limit: RateLimit, n_requests: int, *, now_ms: int) -> dict[str, int]:
    """Return the parameters of `take_expression` for some requests."""
    return {
        "now_ms": now_ms,
        "latest_ms": now_ms + 1000 * limit.period_s,
        "cost_ms": limit.cost_ms(n_requests) if n_requests else 0,
    }


def take_from_bucket(tx: Connection, fingerprint: str, limit: RateLimit, *, now_ms: int) -> int:
    """Take one request from a bucket, and return when it is full again; its row stays locked."""
    row = {"fingerprint": fingerprint, "full_at_ms": now_ms + limit.cost_ms()}
    first = dialect_insert(tx, RateLimitTable).values(**row)
    later = first.on_conflict_do_update(
        index_elements=["fingerprint"], set_={"full_at_ms": take_expression(RateLimitTable.full_at_ms)}
    )
    parameters = take_parameters(limit, 1, now_ms=now_ms)
    return tx.execute(later.returning(RateLimitTable.full_at_ms), parameters).scalar_one()


def has_full_buckets(tx: Connection, *, now_ms: int) -> bool:
    """Return whether there are full buckets, which need not be stored."""
    return bool(tx.scalar(select(func.count()).where(RateLimitTable.full_at_ms <= now_ms)))


def delete_full_buckets(tx: Connection, *, now_ms: int) -> int:
    """Delete full buckets, and return their number."""
    return tx.execute(delete(RateLimitTable).where(RateLimitTable.full_at_ms <= now_ms)).rowcount
