"""Compiled kernels over text and sparse rows."""

import numpy as np

from dissensus.stats.kernels import compiled

SPACE = 32


@compiled()
def _mix(state, code):  # type: ignore[no-untyped-def]
    """Update a 64-bit hash with one more code (multiplier and shift of splitmix64)."""
    state = (state ^ np.uint64(code)) * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(29))


@compiled()
def hash_characters(codes, starts, low, high, shift, out):  # type: ignore[no-untyped-def]
    """Hash character n-grams within each word and its surrounding spaces; return the end index of each text.

    Words of a text are separated and surrounded by single spaces.
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


@compiled()
def times(values, columns, ends, vector, out):  # type: ignore[no-untyped-def]
    """Multiply a sparse matrix by a vector."""
    for row in range(len(ends) - 1):
        total = 0.0
        for index in range(ends[row], ends[row + 1]):
            total += values[index] * vector[columns[index]]
        out[row] = total


@compiled()
def transposed_times(values, columns, ends, vector, out):  # type: ignore[no-untyped-def]
    """Add the product of the transpose of a sparse matrix and a vector to out."""
    for row in range(len(ends) - 1):
        factor = vector[row]
        for index in range(ends[row], ends[row + 1]):
            out[columns[index]] += factor * values[index]


@compiled()
def differences(values, columns, ends, out_values, out_columns, out_ends):  # type: ignore[no-untyped-def]
    """Subtract each odd row of a sparse matrix, with sorted columns, from the even row before it."""
    filled = 0
    for pair in range((len(ends) - 1) // 2):
        left, right = ends[2 * pair], ends[2 * pair + 1]
        left_end, right_end = right, ends[2 * pair + 2]
        while left < left_end or right < right_end:
            if right == right_end or (left < left_end and columns[left] < columns[right]):
                column, value = columns[left], values[left]
                left += 1
            elif left == left_end or columns[right] < columns[left]:
                column, value = columns[right], -values[right]
                right += 1
            else:
                column, value = columns[left], values[left] - values[right]
                left += 1
                right += 1
            if value != 0:
                out_columns[filled] = column
                out_values[filled] = value
                filled += 1
        out_ends[pair + 1] = filled
    return filled
