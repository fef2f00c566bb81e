"""Ways to spoil text, bytes and JSON."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

TOKENS = (
    "",
    " ",
    "\t",
    "\n",
    "\r",
    ",",
    ";",
    '"',
    "'",
    "\0",
    "-1",
    "0",
    "1",
    "1.5",
    "-0.0",
    "NaN",
    "inf",
    "1e400",
    "1e-400",
    "9223372036854775808",
    "99999999999999999999999",
    "0x10",
    "1_000",
    "1,5",
    "%",
    "%%MatrixMarket",
    "=1+1",
    "é",
    "\ufeff",
    "\u2028",
    "\U0001f9ec",
    "../../x",
    "None",
    "True",
    "x" * 5000,
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**70,
    1.5,
    -0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "auto",
    "../../x",
    "/",
    "\0",
    "\n",
    "é" * 300,
    [],
    [1, "a", None],
    {},
    {"a": {"b": []}},
    [[[[[[]]]]]],
)


def pick(rng: np.random.Generator, things: Any) -> Any:
    """One of some things, as it is."""
    return things[int(rng.integers(len(things)))]


def spoiled_text(text: str, rng: np.random.Generator) -> bytes:
    """A text after one to three changes, and now and then of its bytes."""
    for _ in range(int(rng.integers(1, 4))):
        text = pick(rng, (_token, _line, _insert, _cut))(text, rng)
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    if rng.random() < 0.25 and content:
        pick(rng, tuple(DAMAGES.values()))(content, rng)
    return bytes(content)


def _token(text: str, rng: np.random.Generator) -> str:
    """Another word for one of a line."""
    lines = text.split("\n")
    number = int(rng.integers(len(lines)))
    mark = next((mark for mark in "\t, " if mark in lines[number]), " ")
    words = lines[number].split(mark)
    words[int(rng.integers(len(words)))] = pick(rng, TOKENS)
    lines[number] = mark.join(words)
    return "\n".join(lines)


def _line(text: str, rng: np.random.Generator) -> str:
    """A line less, twice, or in another place."""
    lines = text.split("\n")
    line = lines.pop(int(rng.integers(len(lines))))
    for _ in range(int(rng.integers(3))):
        lines.insert(int(rng.integers(len(lines) + 1)), line)
    return "\n".join(lines)


def _insert(text: str, rng: np.random.Generator) -> str:
    place = int(rng.integers(len(text) + 1))
    return text[:place] + pick(rng, TOKENS) + text[place:]


def _cut(text: str, rng: np.random.Generator) -> str:
    return text[: int(rng.integers(len(text) + 1))]


# ------------------------------------------------------------------------------------------------ bytes


def cut(content: bytearray, rng: np.random.Generator) -> None:
    """Lose the end."""
    del content[int(rng.integers(len(content))) :]


def wipe(content: bytearray, rng: np.random.Generator) -> None:
    """Zeros in place of a stretch."""
    size = int(rng.integers(1, min(4096, len(content)) + 1))
    start = int(rng.integers(len(content) - size + 1))
    content[start : start + size] = bytes(size)


def flip(content: bytearray, rng: np.random.Generator) -> None:
    """Other bits in some places."""
    for place in rng.integers(len(content), size=rng.integers(1, 30)):
        content[place] ^= 1 << int(rng.integers(8))


DAMAGES: dict[str, Callable[[bytearray, np.random.Generator], None]] = {"cut": cut, "wiped": wipe, "flipped": flip}

# ------------------------------------------------------------------------------------------------ JSON


def spoiled_tree(tree: Any, rng: np.random.Generator) -> Any:
    """A tree of dicts and lists after one to three changes: another value somewhere, or one less."""
    tree = copy.deepcopy(tree)
    for _ in range(int(rng.integers(1, 4))):
        places = list(_places(tree))
        if not places or rng.random() < 0.01:
            return pick(rng, VALUES)
        holder, key = pick(rng, places)
        if rng.random() < 0.25:
            del holder[key]
        else:
            holder[key] = pick(rng, VALUES)
    return tree


def _places(tree: Any) -> Any:
    """Every value's holder and its key there."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield tree, key
        yield from _places(tree[key])
