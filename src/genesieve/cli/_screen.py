"""What the commands share on screen: options, notes, one-line errors, and the watcher with its progress bar."""

from __future__ import annotations

import json
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from re import Match
from typing import Annotated, Any, NoReturn

import typer

QUOTE = "'"
LEFT, RIGHT = "left", "right"  # of a table's columns
FAILED, USAGE, INTERRUPTED, TERMINATED = 1, 2, 130, 143
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has no SIGHUP
ASK_AGAIN_SECONDS = 3.0
_state: dict[str, Any] = {"debug": False, "kept": "nothing was written"}


def _set_debug(value: bool) -> bool:
    _state["debug"] = _state["debug"] or value
    return value


Debug = Annotated[
    bool, typer.Option("--debug", callback=_set_debug, is_eager=True, help="Show a traceback if something fails.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else there.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an earlier result of genesieve.")]
Memory = Annotated[
    str | None,
    typer.Option(metavar="2GB", help="Leave h5ad or zarr data in their file, and read them within so much memory."),
]
Dask = Annotated[
    str | None, typer.Option(metavar="tcp://HOST:PORT", help="Work on the Dask cluster with this scheduler.")
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Threads; every core there is if not given.")]
KINDS_OF_DATA = "Expression data: .h5ad, .zarr, 10x .h5, a folder with matrix.mtx, .csv, .tsv, .loom."


def _check_data(path: Path) -> Path:
    return check_there(path, "DATA")


def check_there(path: Path, hint: str) -> Path:
    """A file or folder that is there, or an error that names it as it was typed."""
    if not path.exists():
        name = str(path) if str(path).isprintable() else repr(str(path))
        raise typer.BadParameter(f"{name} does not exist", param_hint=hint)
    return path


Data = Annotated[Path, typer.Argument(metavar="DATA", help=KINDS_OF_DATA, callback=_check_data)]
CellsIn = Annotated[str | None, typer.Option(metavar="rows|columns", help="Where a csv or tsv table has its cells.")]
Layer = Annotated[str | None, typer.Option(help="Layer to read instead of X.")]
UseRaw = Annotated[bool, typer.Option("--use-raw", help="Read .raw instead of X, where X holds scaled values.")]


def plain(text: object) -> str:
    """One line that is safe on a terminal: names in data may hold line breaks and escape codes."""
    line = " ".join(str(text).split())
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)


def say(text: str) -> None:
    """One line on standard error."""
    print(plain(text), file=sys.stderr, flush=True)


def if_stopped(kept: str) -> None:
    """What a command that is stopped says of its output, where it is not that nothing was written."""
    _state["kept"] = kept


@contextmanager
def reporting() -> Iterator[None]:
    """Turn errors into one line and an exit code, and warnings into notes."""
    # What is ignored stays so: `nohup` lets a command outlive its terminal.
    handled = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, _terminate) for number in handled}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_note  # type: ignore[assignment]
            yield
    except (KeyboardInterrupt, typer.Abort):
        _leave(f"stopped: {_state['kept']}", INTERRUPTED)
    except SystemExit as error:
        if error.code == INTERRUPTED:  # typer turns Ctrl-C into it
            say(f"stopped: {_state['kept']}")
        raise
    except Exception as error:
        if _state["debug"]:
            traceback.print_exc()
        _leave(*_told(error))
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _show_note(message: Warning | str, category: type[Warning], filename: str, *_: Any) -> None:
    """Show what genesieve itself warns of.

    A library may warn while it is being imported; what is imported here must not need it.
    """
    from genesieve._checks import is_ours

    if is_ours(category, filename):
        say(f"note: {in_flags(str(message))}")


def _terminate(*_: Any) -> NoReturn:
    """End as an error would, so that nothing half-written stays."""
    with suppress(OSError):  # the terminal may be gone
        say(f"terminated: {_state['kept']}")
    # Raised inside a finaliser, an exception is lost: ask again, long after all would be cleared away.
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _terminate)
        signal.setitimer(signal.ITIMER_REAL, ASK_AGAIN_SECONDS)
    raise SystemExit(TERMINATED)


def _told(error: Exception) -> tuple[str, int]:
    """The line for an error, and the exit code."""
    if hasattr(error, "format_message"):  # of the command line's parser
        if not error.format_message():
            raise SystemExit(USAGE)  # no command was given, and the help has been shown
        where = getattr(error, "ctx", None)
        return f"error: {error.format_message()} (see {where.command_path if where else 'genesieve'} --help)", USAGE
    return f"error: {in_flags(_message(error))}", USAGE if type(error).__name__ == "RequestError" else FAILED


def _message(error: Exception) -> str:
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])  # str() would quote it
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    if isinstance(error, MemoryError):
        return f"out of memory {error}".strip()
    return str(error) or type(error).__name__


def in_flags(message: str) -> str:
    """A message about settings, in the flags that stand for them: ``label_rule`` is ``--label-rule`` to the user."""
    from genesieve.workflow.settings import NAMED, WRITTEN

    def flag(found: Match[str]) -> str:
        name, _, value = found[0].partition("=")
        typed = f"--{WRITTEN.get(name, name).replace('_', '-')}"
        return typed if value in ("", "True") else f"{typed} {value.strip(QUOTE)}"

    return NAMED.sub(flag, message)


def _leave(text: str, code: int) -> NoReturn:
    say(text)
    raise SystemExit(code)


def print_json(content: dict[str, Any]) -> None:
    """The one object of --json."""
    print(json.dumps(content, indent=2, allow_nan=False))


# ------------------------------------------------------------------------------------------------ a watched run


def watcher(*, quiet: bool) -> Any:
    """A `genesieve.workflow.Watcher` that draws on standard error, or with ``quiet`` only listens to Ctrl-C."""
    from rich.console import Console

    from genesieve.cli._watch import Screen

    if quiet:
        warnings.showwarning = lambda *_: None
    console = Console(stderr=True, quiet=quiet, highlight=False)
    return Screen(console)


def table(title: str, headings: dict[str, str], rows: list[list[object]]) -> None:
    """Print a table; ``headings`` have their justification."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=Text(plain(title)))
    for heading, justify in headings.items():
        drawn.add_column(heading, justify="right" if justify == RIGHT else "left")
    for row in rows:
        drawn.add_row(*(Text(plain(value)) for value in row))  # Text: no markup in names
    Console(highlight=False).print(drawn)
