"""A connection to PostgreSQL beside which something else is done while the server works: no thread waits for it."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from psycopg import Connection
from psycopg.abc import RV, PQGen


class Overlapping(Connection[Any]):
    """A connection that can send a question, let something be done, then take the answer.

    A thread for each would cost more than it gains: both sides are Python, and would wait for one another.
    """

    _meanwhile: Callable[[], None] | None = None

    def ask(self, query: str, values: Sequence[Any], meanwhile: Callable[[], None] | None) -> list[Any]:
        """The rows of a query; `meanwhile` is done once it is on its way."""
        self._meanwhile = meanwhile
        try:
            return self.execute(query, values).fetchall()
        finally:
            self._meanwhile = None

    def wait(self, gen: PQGen[RV], *args: Any, **named: Any) -> RV:
        """See Connection: all that it does passes here, as a generator that yields where it has to wait."""
        act, self._meanwhile = self._meanwhile, None
        return super().wait(_during(gen, act) if act else gen, *args, **named)


def _during(gen: PQGen[RV], act: Callable[[], None]) -> Generator[Any, Any, RV]:
    """`gen`, with `act` done where it waits for the first time: then the query is on its way."""
    todo = [act]
    ready: Any = None
    try:
        while True:
            waits = gen.send(ready)
            if todo:
                todo.pop()()
            ready = yield waits
    except StopIteration as end:
        if todo:  # it never had to wait
            todo.pop()()
        return end.value  # type: ignore[no-any-return]
