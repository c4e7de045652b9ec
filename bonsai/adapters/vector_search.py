"""Which of many vectors are nearest to one: with numpy where it is installed, as the extra `embed` brings it along."""

from collections.abc import Collection

from bonsai.notes.meaning import UNIT, Close, close, dot


def nearest(vector: bytes, rows: bytes, limit: int) -> list[int]:
    """The numbers of the rows that are nearest to a vector, nearest first; equal ones in their order.

    `rows`: vectors one after the other. The products are whole numbers below 2^24, which also float32 holds exactly.
    """
    size = len(vector)
    try:
        import numpy
    except ImportError:
        scores = [dot(vector, rows[at : at + size]) for at in range(0, len(rows), size)]
        return sorted(range(len(scores)), key=lambda at: -scores[at])[:limit]
    table = numpy.frombuffer(rows, numpy.int8).reshape(-1, size)
    wanted = numpy.frombuffer(vector, numpy.int8).astype(numpy.float32)
    step = 16384  # rows that are made floats at once
    parts = [table[at : at + step].astype(numpy.float32) @ wanted for at in range(0, len(table), step)]
    if not parts:
        return []
    return [int(at) for at in numpy.argsort(-numpy.concatenate(parts), kind="stable")[:limit]]


def closeness(rows: bytes, numbers: Collection[int], vector: bytes) -> dict[int, Close]:
    """The closeness to a vector of those passages of a note that there are; `rows`: the vectors of the note."""
    size = len(vector)
    count = len(rows) // size
    wanted = [number for number in numbers if number < count]
    try:
        import numpy
    except ImportError:
        vectors = [rows[at : at + size] for at in range(0, len(rows), size)]
        return {number: close(vectors, number, vector) for number in wanted}
    table = numpy.zeros((count + 2, size), numpy.float32)  # two rows of nothing behind the last
    table[:count] = numpy.frombuffer(rows, numpy.int8).reshape(-1, size)
    near = (table[:count] @ numpy.frombuffer(vector, numpy.int8).astype(numpy.float32)).tolist()
    others = [numpy.einsum("ij,ij->i", table[:count], table[step : count + step]).tolist() for step in range(3)]
    return {at: Close(near[at] / UNIT, *(product[at] / UNIT for product in others)) for at in wanted}
