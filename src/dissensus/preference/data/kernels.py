"""Compiled kernels that hash n-grams and count their hashes."""

import numpy as np

from dissensus.stats.kernels import compiled

SPACE = 32  # Code point


@compiled()
def _mix(state, code):  # type: ignore[no-untyped-def]
    """Update a 64-bit hash with one more code (multiplier and shift of splitmix64)."""
    state = (state ^ np.uint64(code)) * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(29))


@compiled()
def hash_characters(codes, starts, low, high, shift, out):  # type: ignore[no-untyped-def]
    """Hash character n-grams within each word and its surrounding spaces; return the end index of each text.

    Words of a text are separated and surrounded by single spaces. The hashes are written to `out`.
    """
    ends = np.zeros(len(starts), np.int64)
    filled = 0
    for text in range(len(starts) - 1):
        for begin in range(starts[text], starts[text + 1]):
            state = np.uint64(0x9E3779B97F4A7C15)
            for index in range(begin, starts[text + 1]):
                state = _mix(state, codes[index])
                length = index - begin + 1
                if length >= low:
                    out[filled] = np.uint32(_mix(state, length) >> shift)
                    filled += 1
                if length == high or (codes[index] == SPACE and length > 1):
                    break
        ends[text + 1] = filled
    return ends


@compiled()
def hash_words(codes, starts, high, shift, out):  # type: ignore[no-untyped-def]
    """Hash word n-grams of one to high words; see `hash_characters`."""
    ends = np.zeros(len(starts), np.int64)
    filled = 0
    for text in range(len(starts) - 1):
        for begin in range(starts[text], starts[text + 1] - 1):
            if codes[begin] != SPACE:
                continue
            state, length = np.uint64(0xD1B54A32D192ED03), 0
            for index in range(begin + 1, starts[text + 1]):
                state = _mix(state, codes[index])
                if codes[index] == SPACE:
                    length += 1
                    out[filled] = np.uint32(_mix(state, length) >> shift)
                    filled += 1
                    if length == high:
                        break
        ends[text + 1] = filled
    return ends


@compiled()
def count_runs(hashes, ends, columns, counts):  # type: ignore[no-untyped-def]
    """Count equal hashes of each row, sorting the hashes in place; return the end index of each row's columns."""
    column_ends = np.zeros(len(ends), np.int64)
    filled = 0
    for row in range(len(ends) - 1):
        begin, first = ends[row], filled
        hashes[begin : ends[row + 1]].sort()
        for index in range(begin, ends[row + 1]):
            if filled > first and columns[filled - 1] == hashes[index]:
                counts[filled - 1] += 1
            else:
                columns[filled] = hashes[index]
                counts[filled] = 1
                filled += 1
        column_ends[row + 1] = filled
    return column_ends
