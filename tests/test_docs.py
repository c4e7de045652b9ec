"""The documents are true: commands run and print what is shown, links lead somewhere, nothing is missing."""

import re
from pathlib import Path

import click
import pytest
from console import TOP, has_console, masked, replay

from bonsai.cli.main import cli
from bonsai.config import TABLE
from bonsai.notes.problem import CODES

DOCUMENTS = sorted([*TOP.glob("*.md"), *TOP.glob("docs/*.md"), *TOP.glob("examples/*.md")])
TRANSCRIPTS = sorted(TOP.glob("tests/cli/transcripts/*.md"))
CONSOLES = [path for path in [*DOCUMENTS, *TRANSCRIPTS] if has_console(path.read_text(encoding="utf-8"))]
USER_DOCUMENTS = [path for path in DOCUMENTS if path.parent.name == "docs" or path.name == "README.md"]


def name(path: Path) -> str:
    return str(path.relative_to(TOP))


def commands() -> dict[str, click.Command]:
    """Every command and sub-command, by what a person types after `bonsai`."""
    context, found = click.Context(cli), {}
    for word in cli.list_commands(context):
        command = cli.get_command(context, word)
        found[word] = command
        if isinstance(command, click.Group):
            found.update({f"{word} {sub}": command.commands[sub] for sub in command.commands})
    return found


@pytest.mark.parametrize("path", CONSOLES, ids=name)
def test_consoles_print_what_is_shown(path: Path, tmp_path: Path, update: bool) -> None:
    document = path.read_text(encoding="utf-8")
    now = replay(document, tmp_path)
    if update:
        path.write_text(now, encoding="utf-8")
    else:
        assert masked(now) == masked(document), "to accept what is printed now: pytest --update"


@pytest.mark.parametrize("words", commands())
def test_every_command_is_documented(words: str) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in USER_DOCUMENTS)
    assert f"bonsai {words}" in text


@pytest.mark.parametrize("words", commands())
def test_every_help_has_examples_of_that_command(words: str) -> None:
    command = commands()[words]
    text = command.get_help(click.Context(command, info_name=f"bonsai {words}"))
    examples = text.partition("Examples:\n")[2]
    assert f"bonsai {words}" in examples
    assert re.search(r"--json", text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" not in target:
            place, _, anchor = target.partition("#")
            document = (path.parent / place).resolve() if place else path
            assert document.exists(), f"{name(path)} links to {target}"
            if anchor:
                headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.M)
                assert anchor in [re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings], target


def test_the_table_of_the_readme_names_every_command() -> None:
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    assert [word for word in cli.list_commands(click.Context(cli)) if f"`bonsai {word}`" not in readme] == []


def test_every_page_of_docs_is_linked_from_the_readme() -> None:
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    for page in TOP.glob("docs/*.md"):
        assert f"(docs/{page.name})" in readme


def test_configuration_is_documented_as_it_is() -> None:
    text = (TOP / "docs/configuration.md").read_text(encoding="utf-8")
    rows = [
        f"| `{part}.{key}` | {item.shown} | {item.allowed} | {item.about} |"
        for part, keys in TABLE.items()
        for key, item in keys.items()
    ]
    assert "\n".join(rows) in text, "\n".join(rows)


def test_the_template_of_bonsai_toml_is_the_table() -> None:
    lines = (TOP / "templates/bonsai.toml").read_text(encoding="utf-8").splitlines()
    expected = []
    for part, keys in TABLE.items():
        expected += ["", f"# [{part}]", *(f"# {key} = {item.shown}  # {item.about}" for key, item in keys.items())]
    assert lines[1:] == expected


@pytest.mark.parametrize("code", CODES)
def test_every_problem_code_is_explained(code: str) -> None:
    assert f"| `{code}` | {CODES[code]} |" in (TOP / "docs/troubleshooting.md").read_text(encoding="utf-8")
