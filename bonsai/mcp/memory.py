"""The workspace behind the server: who asks is written into what is changed, and one verb runs at a time."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from bonsai.errors import BonsaiError
from bonsai.notes.taxonomy import slug

if TYPE_CHECKING:
    from bonsai.workspace import Workspace

T = TypeVar("T")
OPEN = 8  # workspaces that are kept open, one for each client and session
SESSION = "mcp-session-id"


class Memory:
    """A workspace for many clients."""

    def __init__(self, root: str, agent: str = "", actor: str = "", session: str = "") -> None:
        self.root, self.agent = root, agent
        self._actor, self._session = actor, session or uuid4().hex[:12]
        self._open: OrderedDict[tuple[str, str], Workspace] = OrderedDict()
        self._turn = anyio.CapacityLimiter(1)

    async def run(self, context: Context[Any, Any] | None, verb: "Callable[[Workspace], T]") -> T:
        """What a verb answers, on a thread of its own. Raises ToolError, which tells the model the next step."""
        who = self._who(context)
        try:
            return await anyio.to_thread.run_sync(lambda: verb(self._workspace(*who)), limiter=self._turn)
        except BonsaiError as error:
            raise ToolError(f"{error}. {error.hint}".strip()) from error

    def _who(self, context: Context[Any, Any] | None) -> tuple[str, str]:
        """The actor and the session of a request."""
        name, session = "mcp", self._session
        with suppress(ValueError, AttributeError):  # outside of a request, or a client that does not say its name
            request = context.request_context if context else None
            if request and request.session.client_params is not None:
                name = request.session.client_params.client_info.name
            session = getattr(request and request.request, "headers", {}).get(SESSION, session)
        return self._actor or f"agent:{self.agent or slug(name[:60])}", session[:64]

    def _workspace(self, actor: str, session: str) -> "Workspace":
        from bonsai.workspace import Workspace  # a client waits for the start, and may never ask for anything

        key = (actor, session)
        if key not in self._open:
            self._open[key] = Workspace.open(self.root, agent=self.agent, actor=actor, session=session)
        self._open.move_to_end(key)
        while len(self._open) > OPEN:
            self._open.popitem(last=False)[1].close()
        return self._open[key]

    def close(self) -> None:
        """Release the files that are open."""
        for workspace in self._open.values():
            workspace.close()
        self._open.clear()
