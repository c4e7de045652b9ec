"""Anthropic's memory tool for the tool runner of its SDK (the door to anthropic, an extra)."""

from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from bonsai import memory_tool
from bonsai.errors import BonsaiError
from bonsai.workspace import Workspace


class BonsaiMemoryTool(BetaAbstractMemoryTool):
    """`client.beta.messages.run_tools(tools=[BonsaiMemoryTool(workspace)], …)`: the memory is the workspace's.

    The workspace is the caller's, who opens it (with `actor` and `session`, which come into each commit) and closes it.
    """

    def __init__(self, workspace: Workspace, **settings: Any) -> None:
        super().__init__(**settings)
        self._workspace = workspace

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """List a folder or show a file."""
        return self._call(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return self._call(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text."""
        return self._call(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines."""
        return self._call(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Archive a file or a folder."""
        return self._call(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Give a file another name."""
        return self._call(command)

    def _call(self, command: Any) -> str:
        """Carry it out; every error is told to the model, which can do something else."""
        try:
            return memory_tool.call(self._workspace, command.to_dict())
        except memory_tool.ToolFailed as error:
            raise ToolError(error.cause) from error
        except BonsaiError as error:
            raise ToolError(f"Error: {error}. {error.hint}".rstrip()) from error
