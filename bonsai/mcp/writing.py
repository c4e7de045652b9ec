"""The tools that change the memory: each is one commit, which names the client and its session and can be undone."""

from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from bonsai.mcp import answers
from bonsai.mcp.memory import Memory
from bonsai.mcp.reading import PATH, reflection

#: Nothing that a tool takes away is lost (git has it), but what it takes away is no longer found.
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
ONCE = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
TAKES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
Asks = Context[Any, Any]
TOOLS = {
    "remember": (ONCE, "Remember something"),
    "update": (TAKES, "Change a note"),
    "move": (ADDS, "Move a note"),
    "archive": (TAKES, "Archive notes"),
    "restore": (ADDS, "Bring a note back"),
    "undo": (TAKES, "Take a run back"),
    "reflect": (ONCE, "Look what needs a decision"),
    "reflect_apply": (TAKES, "Carry out decisions"),
    "feedback": (ADDS, "Note what the human corrected or approved"),
}


def register(server: MCPServer[Any], memory: Memory) -> None:
    """Offer them."""
    tools = Writing(memory)
    for name, (annotations, title) in TOOLS.items():
        server.tool(annotations=annotations, title=title)(getattr(tools, name))


class Writing:
    """The tools over one workspace. Each is one run of the workspace."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def remember(
        self,
        context: Asks,
        text: Annotated[str, Field(description="one thing, in markdown; dates absolute")],
        source: Annotated[
            Literal["agent", "user", "web", "tool"],
            Field(description="who says so: `web` and `tool` for what you read there, which is marked as not trusted"),
        ] = "agent",
        origin: Annotated[str, Field(description="of web and tool: the address or the name of the tool")] = "",
        domain: Annotated[str, Field(description="such as business/seo; empty: the words decide")] = "",
        type: Annotated[str, Field(description="fact, user, feedback, project, reference")] = "fact",
        key: Annotated[str, Field(description="same key: the newer value of the same note")] = "",
        importance: Annotated[float | None, Field(ge=0, le=1)] = None,
        confidence: Annotated[float | None, Field(ge=0, le=1)] = None,
        tags: list[str] | None = None,
    ) -> Annotated[CallToolResult, answers.Remembered]:
        """Write a note of its own, or give the note with this key its newer value."""
        said = "" if source == "agent" else f"{source}:{origin}" if origin else source
        found = await self._memory.run(
            context,
            lambda space: space.remember(
                text,
                domain=domain,
                type=type,
                key=key,
                importance=importance,
                confidence=confidence,
                tags=tags or [],
                source=said,
            ),
        )
        answer: answers.Remembered = answers.told(
            answers.Remembered, found, domain=found.category, dates=answers.dated(found.dates)
        )
        word = "Remembered in" if found.commit else "Was known already:"
        return answer.result("\n".join([f"{word} {found.path}", *answer.dates, *found.flags]))

    async def update(
        self,
        context: Asks,
        path: Annotated[str, PATH],
        new: Annotated[str, Field(description="the text instead, or the text to append")],
        old: Annotated[str, Field(description="the one place to replace, word for word; empty: append")] = "",
    ) -> Annotated[CallToolResult, answers.Changed]:
        """Replace one place in a note, or append to it. The old text stays in the history."""
        found = await self._memory.run(context, lambda space: space.update(path, old, new))
        answer: answers.Changed = answers.told(answers.Changed, found, dates=answers.dated(found.dates))
        word = f"Changed {path}" if found.commit else f"{path} says so already"
        return answer.result("\n".join([word, *answer.dates]))

    async def move(
        self,
        context: Asks,
        path: Annotated[str, PATH],
        domain: Annotated[str, Field(description="such as business/seo")],
    ) -> Annotated[CallToolResult, answers.Changed]:
        """Move a note to another domain; links to it keep working."""
        found = await self._memory.run(context, lambda space: space.move(path, domain))
        return answers.Changed(path=found.to, old=found.from_, commit=found.commit).result(f"Moved to {found.to}")

    async def archive(
        self,
        context: Asks,
        paths: Annotated[list[str], Field(min_length=1, max_length=50)],
        reason: str = "",
    ) -> Annotated[CallToolResult, answers.Paths]:
        """Put notes away. They are kept for 180 days at least; `restore` brings them back."""
        found = await self._memory.run(context, lambda space: space.archive(*paths, reason=reason))
        text = "Archived as\n" + "\n".join(found.archived)
        return answers.Paths(paths=found.archived, commit=found.commit).result(text)

    async def restore(
        self,
        context: Asks,
        path: Annotated[str, Field(description="an archive or a note that is gone; PATH@DATE for an older version")],
    ) -> Annotated[CallToolResult, answers.Paths]:
        """Bring back what was archived, purged or overwritten."""
        found = await self._memory.run(context, lambda space: space.restore(path))
        text = "Restored\n" + "\n".join(found.restored)
        return answers.Paths(paths=found.restored, commit=found.commit).result(text)

    async def undo(
        self,
        context: Asks,
        run: Annotated[str, Field(description="its id, see `history`; empty: your own last one")] = "",
    ) -> Annotated[CallToolResult, answers.Undone]:
        """Take back exactly one run; later edits stay. Where they conflict nothing is changed."""
        found = await self._memory.run(context, lambda space: space.undo(run or None))
        conflicts = [f"{item.path}: {item.reason}" for item in found.conflicts]
        answer: answers.Undone = answers.told(answers.Undone, found, conflicts=conflicts)
        word = "Nothing was changed, these conflict:" if conflicts else f"Took back {found.undone}:"
        return answer.result("\n".join([word, *(conflicts or found.restored)]))

    async def reflect(self, context: Asks) -> Annotated[CallToolResult, answers.Reflection]:
        """Look for notes that are old, long, misplaced or there twice; `reflect_apply` takes the decisions."""
        found = await self._memory.run(context, lambda space: space.reflect())
        return reflection(found)

    async def reflect_apply(
        self,
        context: Asks,
        decisions: Annotated[
            list[dict[str, Any]],
            Field(
                description="candidates of reflect_show, each with `file`, `hash` and `decision`: keep; migrate with"
                " `domain`; archive with `reason`; merge with `into`; split with `parts`"
            ),
        ],
    ) -> Annotated[CallToolResult, answers.Applied]:
        """Carry out decisions as one guarded run. A note that changed meanwhile is refused and stays."""
        found = await self._memory.run(context, lambda space: space.reflect_apply({"candidates": decisions}))
        applied, refused = (
            [answers.told(answers.Decided, item) for item in part] for part in (found.applied, found.refused)
        )
        rows = [f"{item.decision} {item.file} {item.to}".rstrip() for item in applied]
        rows += [f"refused: {item.file}: {item.reason}" for item in refused]
        answer = answers.Applied(applied=applied, refused=refused, commit=found.commit)
        return answer.result("\n".join(rows) or "Nothing to do.")

    async def feedback(
        self,
        context: Asks,
        rule: Annotated[str, Field(description="what to do or not to do; with `confirm`, what was approved")],
        why: Annotated[str, Field(description="what went wrong, or why it was right")] = "",
        how: Annotated[str, Field(description="when and how to apply it")] = "",
        confirm: bool = False,
        situation: Annotated[str, Field(description="with `confirm`: what was being done")] = "",
    ) -> Annotated[CallToolResult, answers.Rule]:
        """Write the next entry of feedback.md: a correction (why, how), or what was approved (confirm, situation)."""
        found = await self._memory.run(
            context,
            lambda space: space.feedback_add(rule, why=why, how=how, confirm=confirm, context=situation),
        )
        answer: answers.Rule = answers.told(answers.Rule, found)
        return answer.result(f"{found.id} is in {found.path}")
