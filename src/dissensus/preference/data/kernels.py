"""Compiled kernels over text and sparse rows."""

import numpy as np

from dissensus.stats.kernels import compiled

SPACE = 32


@compiled()
def _mixed(state, code):  # type: ignore[no-untyped-def]
    """Return a hash of 64 bits with one more code in it (the multiplier and shift of splitmix64)."""
    state = (state ^ np.uint64(code)) * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(29))


@compiled()
def hash_characters(codes, starts, low, high, shift, out):  # type: ignore[no-untyped-def]
    """Hash the runs of low to high characters within each word and the space on both sides of it.

    A text is words with one space before, between and after. Returns where the hashes of each text end.
    """
    ends = np.zeros(len(starts), np.int64)
    filled = 0
    for text in range(len(starts) - 1):
        for begin in range(starts[text], starts[text + 1]):
            state = np.uint64(0x9E3779B97F4A7C15)
            for place in range(begin, starts[text + 1]):
                state = _mixed(state, codes[place])
                length = place - begin + 1
                if length >= low:
                    out[filled] = np.uint32(_mixed(state, length) >> shift)
                    filled += 1
                if length == high or (codes[place] == SPACE and length > 1):
                    break
        ends[text + 1] = filled
    return ends


@compiled()
def hash_words(codes, starts, high, shift, out):  # type: ignore[no-untyped-def]
    """Hash the runs of one to high words; otherwise as `hash_characters`."""
    ends = np.zeros(len(starts), np.int64)
    filled = 0
    for text in range(len(starts) - 1):
        for begin in range(starts[text], starts[text + 1] - 1):
            if codes[begin] != SPACE:
                continue
            state, length = np.uint64(0xD1B54A32D192ED03), 0
            for place in range(begin + 1, starts[text + 1]):
                state = _mixed(state, codes[place])
                if codes[place] == SPACE:
                    length += 1
                    out[filled] = np.uint32(_mixed(state, length) >> shift)
                    filled += 1
                    if length == high:
                        break
        ends[text + 1] = filled
    return ends


@compiled()
def count_runs(hashes, ends, columns, counts):  # type: ignore[no-untyped-def]
    """Count equal hashes of each row, which this sorts; return where the columns of each row end."""
    found = np.zeros(len(ends), np.int64)
    filled = 0
    for row in range(len(ends) - 1):
        begin, first = ends[row], filled
        hashes[begin : ends[row + 1]].sort()
        for place in range(begin, ends[row + 1]):
            if filled > first and columns[filled - 1] == hashes[place]:
                counts[filled - 1] += 1
            else:
                columns[filled] = hashes[place]
                counts[filled] = 1
                filled += 1
        found[row + 1] = filled
    return found


@compiled()
def times(values, columns, ends, vector, out):  # type: ignore[no-untyped-def]
    """Multiply a sparse matrix by a vector."""
    for row in range(len(ends) - 1):
        total = 0.0
        for place in range(ends[row], ends[row + 1]):
            total += values[place] * vector[columns[place]]
        out[row] = total


@compiled()
def times_all(values, columns, ends, matrix, out):  # type: ignore[no-untyped-def]
    """Multiply a sparse matrix by a dense one, and add it to what is there."""
    for row in range(len(ends) - 1):
        for place in range(ends[row], ends[row + 1]):
            for k in range(matrix.shape[1]):
                out[row, k] += values[place] * matrix[columns[place], k]


@compiled()
def transposed_times_all(values, columns, ends, matrix, out):  # type: ignore[no-untyped-def]
    """Multiply the transpose of a sparse matrix by a dense one, and add it to what is there."""
    for row in range(len(ends) - 1):
        for place in range(ends[row], ends[row + 1]):
            for k in range(matrix.shape[1]):
                out[columns[place], k] += values[place] * matrix[row, k]


@compiled()
def transposed_times(values, columns, ends, vector, out):  # type: ignore[no-untyped-def]
    """Multiply the transpose of a sparse matrix by a vector, and add it to what is there."""
    for row in range(len(ends) - 1):
        factor = vector[row]
        for place in range(ends[row], ends[row + 1]):
            out[columns[place]] += factor * values[place]


@compiled()
def differences(values, columns, ends, out_values, out_columns, out_ends):  # type: ignore[no-untyped-def]
    """Subtract each odd row of a sparse matrix from the even one before it; columns of a row are in order."""
    filled = 0
    for pair in range((len(ends) - 1) // 2):
        one, other = ends[2 * pair], ends[2 * pair + 1]
        last, end = other, ends[2 * pair + 2]
        while one < last or other < end:
            if other == end or (one < last and columns[one] < columns[other]):
                column, value = columns[one], values[one]
                one += 1
            elif one == last or columns[other] < columns[one]:
                column, value = columns[other], -values[other]
                other += 1
            else:
                column, value = columns[one], values[one] - values[other]
                one += 1
                other += 1
            if value != 0:
                out_columns[filled] = column
                out_values[filled] = value
                filled += 1
        out_ends[pair + 1] = filled
    return filled
