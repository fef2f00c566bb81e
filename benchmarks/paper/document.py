"""Brings measured sections into a document: text stays, what stands between the marks of a section is replaced."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

PICTURE = re.compile(r"!\[(?P<title>[^\]]*)\]\((?P<name>[^)]+)\.png\)")
PREFIX = "paper-"  # of pictures, in the img folder beside the document


def fill(document: Path, folder: Path) -> list[str]:
    """Put every section of the folder between its marks, ``<!-- fig3 -->`` and ``<!-- end fig3 -->``; those filled."""
    text = document.read_text(encoding="utf-8")
    filled = []
    for name in re.findall(r"<!-- end (\w+) -->", text):
        source = folder / f"{name}.md"
        if source.exists():
            opening, closing = f"<!-- {name} -->", f"<!-- end {name} -->"
            before, after = text.split(opening)[0], text.split(closing)[1]
            text = f"{before}{opening}\n\n{_section(source, document.parent / 'img')}\n\n{closing}{after}"
            filled.append(name)
    document.write_text(text, encoding="utf-8")
    return filled


def _section(source: Path, pictures: Path) -> str:
    """A section without its heading, with its pictures copied."""
    pictures.mkdir(parents=True, exist_ok=True)
    _, _, body = source.read_text(encoding="utf-8").partition("\n")

    def copy(match: re.Match[str]) -> str:
        name = f"{PREFIX}{match['name']}.png"
        shutil.copyfile(source.parent / f"{match['name']}.png", pictures / name)
        return f"![{match['title']}]({pictures.name}/{name})"

    return PICTURE.sub(copy, body).strip()
