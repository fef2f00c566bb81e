"""What a peer looks like to a suite, and how it says that it cannot run here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

Versions = Callable[[], dict[str, str]]


class Missing(Exception):  # noqa: N818 - no error: what is missing is told in the tables
    """Why something cannot be had here: a package, a data set, a measurement."""


@dataclass(frozen=True)
class Peer:
    """A method that is measured; a peer that differs from another in parameters alone is another row of a table."""

    title: str
    group: str  # a suite compares peers of one group
    run: Callable[..., Any]  # what it is given and what it returns is the suite's to say
    versions: Versions  # of what it runs; raises Missing where that is not installed


def packages(*names: str) -> Versions:
    """Versions of Python packages."""

    def versions() -> dict[str, str]:
        try:
            return {name: version(name) for name in names}
        except PackageNotFoundError as error:
            raise Missing(f"{error.name} is not installed") from None

    return versions
