"""bonsai: the memory of AI agents as markdown files under git, which people edit by hand.

The public API is `Workspace`, the classes of `bonsai.errors`, `bonsai.conversation` and
`bonsai.anthropic_memory.BonsaiMemoryTool`; everything else is internal.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bonsai.workspace import Workspace as Workspace

__version__ = "0.1.0"
__all__ = ["Workspace", "__version__"]


def __getattr__(name: str) -> Any:
    """Import `Workspace` when it is first asked for: `bonsai --version` must cost no more than click."""
    if name == "Workspace":
        from bonsai.workspace import Workspace

        return Workspace
    raise AttributeError(f"module 'bonsai' has no attribute {name!r}")
