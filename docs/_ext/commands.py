"""The directive ``genesieve-commands``: every command with its arguments, options and examples, from its own help."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import click
from docutils import nodes
from rich.markup import render
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from genesieve.cli import app


class Commands(SphinxDirective):
    """A section for each command."""

    def run(self) -> list[nodes.Node]:
        """Sections, as docutils wants them."""
        commands = get_command(app).commands
        return [self._section(name, command) for name, command in sorted(commands.items()) if not command.hidden]

    def _section(self, name: str, command: Any) -> nodes.section:
        section = nodes.section(ids=[f"genesieve-{name}"], names=[f"genesieve {name}"])
        section += nodes.title("", f"genesieve {name}")
        context = click.Context(command, info_name=f"genesieve {name}")
        section += literal(command.get_usage(context).removeprefix("Usage: "))
        section += [nodes.paragraph("", text) for text in paragraphs(command.help)]
        shown = [item for item in command.params if not getattr(item, "hidden", False)]
        for title, group in groupby(sorted(shown, key=panel_order), key=panel):
            section += nodes.rubric("", title)
            section += definitions(list(group), context)
        section += examples(command)
        self.state.document.note_implicit_target(section, section)
        return section


def panel(parameter: Any) -> str:
    """The heading that the help shows a parameter under."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    return getattr(parameter, "rich_help_panel", None) or "Options"


def panel_order(parameter: Any) -> tuple[bool, bool, str]:
    """Arguments first, then the main options, then the panels."""
    title = panel(parameter)
    return title != "Arguments", title != "Options", title


def definitions(parameters: list[Any], context: click.Context) -> nodes.definition_list:
    """A parameter and what it is, one after the other."""
    found = nodes.definition_list()
    for item in parameters:
        shown = item.get_help_record(context) or (item.make_metavar(context), item.help or "")
        term = nodes.term("", "", nodes.literal("", shown[0].strip()))
        found += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", plain(shown[1]))))
    return found


def examples(command: Any) -> list[nodes.Node]:
    """The lines that the help ends with."""
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    shown = [plain(line) for line in lines if line.startswith("genesieve ")]
    return [nodes.rubric("", "Examples"), literal("\n".join(shown))] if shown else []


def literal(text: str) -> nodes.literal_block:
    """A block of shell."""
    return nodes.literal_block(text, text, language="sh")


def paragraphs(text: str | None) -> list[str]:
    """The help of a command, a paragraph each."""
    return [" ".join(plain(part).split()) for part in re.split(r"\n\s*\n|\f", text or "") if part.strip()]


def plain(text: str) -> str:
    """Without the markup that colours a terminal."""
    return render(text).plain


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("genesieve-commands", Commands)
    return {"parallel_read_safe": True}
