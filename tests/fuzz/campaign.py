"""Many cases of one subject, each judged in a forked process that may crash or never come back.

A subject is a function of a seed and of a folder to work in; it returns how the case ended, and raises `FaultError`
where that is not one of the promised ways. The process is watched: a crash, or more than `SECONDS` of the processor's
time for a case, is a fault of that case, and the next process goes on behind it.
"""

from __future__ import annotations

import json
import os
import select
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 60.0  # of the processor, for one case: most take hundredths of one
PATIENCE = 300.0  # seconds by the clock without a word, on a machine that does other things

Subject = Callable[[int, Path], str]
Case = tuple[str, int]  # the name of a subject, and a seed


class FaultError(Exception):
    """What must not happen."""


class Verdict(NamedTuple):
    """How a case ended, or what is wrong with it."""

    end: str | None
    fault: str | None = None


def campaign(subjects: dict[str, Subject], cases: Sequence[Case], folder: Path) -> Iterator[tuple[Case, Verdict]]:
    """Every case with its verdict."""
    for name in subjects:
        (folder / name).mkdir(parents=True, exist_ok=True)
    done = 0
    while done < len(cases):
        for verdict in _judged(subjects, cases[done:], folder):
            yield cases[done], verdict
            done += 1


def _judged(subjects: dict[str, Subject], cases: Sequence[Case], folder: Path) -> Iterator[Verdict]:
    """Verdicts of one process, up to its end or death."""
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        _work(subjects, cases, folder, said)
    os.close(said)
    told, left, silent = 0, b"", False
    while True:
        if not select.select([heard], [], [], PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
            silent = True
        piece = os.read(heard, 1 << 16)
        if not piece:
            break
        *lines, left = (left + piece).split(b"\n")
        for line in lines:
            told += 1
            yield Verdict(*json.loads(line))
    os.close(heard)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if told < len(cases):
        lost = "it never came back" if silent or code == -signal.SIGPROF else f"the process died: {code}"
        yield Verdict(None, lost)


def _work(subjects: dict[str, Subject], cases: Sequence[Case], folder: Path, said: int) -> None:
    """Judge cases and tell of each, then end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what a crash prints, and many warnings
    code = 1
    try:
        for name, seed in cases:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # its signal ends the process, wherever that is
            verdict = _verdict(subjects[name], seed, folder / name)
            os.write(said, json.dumps(verdict).encode() + b"\n")
        code = 0
    finally:
        os._exit(code)


def _verdict(subject: Subject, seed: int, folder: Path) -> Verdict:
    try:
        return Verdict(subject(seed, folder))
    except FaultError as fault:
        return Verdict(None, str(fault))
    except BaseException as error:
        return Verdict(None, f"{type(error).__name__}: {error}"[:1000])


def run(subjects: dict[str, Subject], counts: dict[str, int], first: int, folder: Path, log: Path | None) -> int:
    """Campaigns of several subjects, told as they go; the number of faults."""
    cases = [(name, seed) for name, count in counts.items() for seed in range(first, first + count)]
    ends: dict[str, Counter[str]] = {name: Counter() for name in counts}
    for number, ((name, seed), (end, fault)) in enumerate(campaign(subjects, cases, folder), start=1):
        ends[name]["fault" if fault is not None else str(end)] += 1
        if fault is not None:
            _say(log, {"subject": name, "seed": seed, "fault": fault})
        if number % 1000 == 0:
            _say(log, {"subject": name, "cases": number, "to": seed})
    for name, how in ends.items():
        _say(log, {"subject": name, "first": first, "cases": how.total(), "faults": how.pop("fault", 0), "ends": how})
    return sum(counts.values()) - sum(how.total() for how in ends.values())


def _say(log: Path | None, what: dict[str, Any]) -> None:
    line = json.dumps(what, ensure_ascii=False)
    print(line, flush=True)
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
