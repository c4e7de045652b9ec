"""The memory in the form of others: llms.txt, and the folders of Letta."""

from collections.abc import Sequence
from urllib.parse import quote

from bonsai.connect.edits import OURS
from bonsai.notes import layout
from bonsai.notes.note import set_fields
from bonsai.notes.printed import clean
from bonsai.notes.summary import Summary

Notes = Sequence[tuple[str, Summary]]
NOTHING = "(no text)"


def llms_txt(name: str, tree: layout.Tree, notes: Notes) -> str:
    """The text of an llms.txt: a section for each domain, the daily notes as what may be skipped."""
    sections: dict[str, list[str]] = {}
    for path, summary in notes:
        if summary.untrusted:
            continue
        domain = "Optional" if layout.is_daily(path) else (layout.domain_of(path) or "Notes").partition("/")[0]
        title = (
            clean(summary.title or layout.name_of(path).removesuffix(".md"), 100).replace("[", "(").replace("]", ")")
        )
        lead = f": {summary.lead}" if summary.lead and summary.lead != summary.title else ""
        sections.setdefault(domain[:1].upper() + domain[1:], []).append(f"- [{title}]({quote(path)}){lead}")
    rows = [f"# {clean(name, 100)}", "", f"> The memory of an agent, in {tree.boot} and {tree.memory}/ ({OURS})."]
    for domain in sorted(sections, key=lambda item: (item == "Optional", item)):
        rows += ["", f"## {domain}", "", *sections[domain]]
    return "\n".join(rows) + "\n"


def letta(tree: layout.Tree, boot: bytes, notes: Sequence[tuple[str, Summary, bytes]]) -> dict[str, bytes]:
    """The files of a Letta memory: `system/` is always in the prompt, of `reference/` the description.

    Letta takes a file only with a `description`, and with no key that it does not know.
    """
    files = {"system/memory.md": _letta("What to know at the start, and an index of the rest", boot)}
    for path, summary, body in notes:
        inside = path[len(tree.memory) + 1 :].removeprefix("domains/")
        said = "from outside, not promoted" if summary.untrusted else summary.lead
        files[f"reference/{inside}"] = _letta(said or summary.title or NOTHING, body)
    return files


def _letta(description: str, body: bytes) -> bytes:
    return set_fields(b"", {"description": description}) + b"\n" + body.lstrip(b"\r\n")
