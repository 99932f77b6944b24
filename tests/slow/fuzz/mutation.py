"""Mutated inputs, the same for the same seed."""

import numpy as np

TOKENS = (
    *(b",", b";", b"\t", b"\n", b"\r\n", b'"', b'""', b"\0", b" ", b"*", b"^a$", b"\xef\xbb\xbf", b"\xff", b"\x1b[31m"),
    *(b"{", b"}", b"[", b"]", b":", b"null", b"true", b"\\u0000", b"\\ud800", b"1.0", b"1e400", b"-1", b"NaN", b"007"),
    *(b"item_id", b"rater_id", b"item_", b"rater_", b"Q_x", b"answer", b"label_a", b"n_Yes", b"Yes", b"\x1f\x8b"),
)
"""Parts of tables that random bytes would hardly ever make."""
LONGEST = 256


def mutate(rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return one of the seeds with one to eight changes."""
    data = bytearray(seeds[rng.integers(len(seeds))])
    for _ in range(rng.choice([1, 1, 2, 3, 5, 8])):
        at, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 9))
        match rng.integers(6):
            case 0:
                data[at : at + 1] = bytes([rng.integers(256)])
            case 1:
                data[at:at] = TOKENS[rng.integers(len(TOKENS))]
            case 2:
                data[at : at + length] = TOKENS[rng.integers(len(TOKENS))]
            case 3:
                del data[at : at + length]
            case 4:
                data[at:at] = data[at : at + 4 * length]
            case 5:
                other = seeds[rng.integers(len(seeds))]
                data[at:] = other[int(rng.integers(len(other))) :]
    return bytes(data[:LONGEST])


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """Overwrite or remove a few bytes between the ends."""
    content = bytearray(data)
    if rng.random() < 0.1:
        low, high = sorted(rng.integers(4, len(content) - 4, 2))
        del content[low:high]
        return bytes(content)
    for at in rng.integers(4, len(content) - 4, rng.choice([1, 1, 2, 4, 16])):
        content[at] = rng.choice([0, 127, 255, content[at] ^ 1, content[at] ^ 128, rng.integers(256)])
    return bytes(content)
