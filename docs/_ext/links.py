"""No dead links inside the site: a build warns if a page points to a page, picture or heading that is not there."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging


class Page(HTMLParser):
    """What a page points to, and the places in it that can be pointed to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.anchors |= {named.get("id") or "", (tag == "a" and named.get("name")) or ""}
        self.targets |= {target for name in ("href", "src") if (target := named.get(name))}


def dead_links(site: Path) -> list[str]:
    """Of all pages of a site, as ``page -> target``."""
    files = (file for file in site.rglob("*.html") if "_static" not in file.parts)  # themes keep templates there
    pages = {file.resolve(): Page(file) for file in files}

    def is_dead(file: Path, target: str) -> bool:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            return False
        aim = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        aim = aim / "index.html" if aim.is_dir() else aim
        fragment = "" if parts.fragment.startswith(":~:") else unquote(parts.fragment)
        return not aim.exists() or (aim in pages and fragment not in pages[aim].anchors)

    found = ((file, target) for file, page in pages.items() for target in page.targets if is_dead(file, target))
    return sorted(f"{file.relative_to(site.resolve())} -> {target}" for file, target in found)


def warn(app: Sphinx, failure: Exception | None) -> None:
    """Warn of each, which ends a build whose warnings are errors."""
    if failure is None and app.builder.name == "html":
        for link in dead_links(Path(app.outdir)):
            logging.getLogger(__name__).warning("dead link: %s", link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("build-finished", warn)
    return {"parallel_read_safe": True}
