"""Many cases of one subject, each judged in a forked process that may crash or never come back.

A subject is a function of a seed and of a folder to work in; it returns how the case ended, and raises `Fault` where
that is not one of the promised ways. The process is watched: a crash, or more than `SECONDS` of the processor's time
for a case, is a fault of that case, and the next process goes on behind it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 60.0  # of the processor, for one case: most take hundredths of one
PATIENCE = 900.0  # seconds by the clock without a word, on a machine that does other things

Subject = Callable[[int, Path], str]


class Fault(Exception):
    """What must not happen."""


@dataclass
class Tally:
    """How cases ended, and the faults by seed."""

    ends: Counter[str] = field(default_factory=Counter)
    faults: dict[int, str] = field(default_factory=dict)


def campaign(
    subject: Subject, seeds: range, folder: Path, tell: Callable[[int, str | None, str | None], None] | None = None
) -> Tally:
    """Judge the cases of all seeds; ``tell`` hears of each: its seed, how it ended, or what is wrong with it."""
    tally, following = Tally(), seeds.start
    while following < seeds.stop:
        for seed, end, fault in _judged(subject, range(following, seeds.stop), folder):
            following = seed + 1
            if fault is None:
                tally.ends[str(end)] += 1
            else:
                tally.faults[seed] = fault
            if tell is not None:
                tell(seed, end, fault)
    return tally


def _judged(subject: Subject, seeds: range, folder: Path) -> Iterator[tuple[int, str | None, str | None]]:
    """Verdicts of one process, up to its end or death."""
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        _work(subject, seeds, folder, said)
    os.close(said)
    following, left, silent = seeds.start, b"", False
    while True:
        if not select.select([heard], [], [], PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
            silent = True
        piece = os.read(heard, 1 << 16)
        if not piece:
            break
        *lines, left = (left + piece).split(b"\n")
        for line in lines:
            seed, end, fault = json.loads(line)
            following = seed + 1
            yield seed, end, fault
    os.close(heard)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if following < seeds.stop:
        yield (
            following,
            None,
            "it never came back" if silent or code == -signal.SIGPROF else f"the process died: {code}",
        )


def _work(subject: Subject, seeds: range, folder: Path, said: int) -> None:
    """Judge cases and tell of each, then end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what a crash prints, and many warnings
    code = 1
    try:
        for seed in seeds:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # its signal ends the process, wherever that is
            end, fault = _verdict(subject, seed, folder)
            os.write(said, json.dumps([seed, end, fault]).encode() + b"\n")
        code = 0
    finally:
        os._exit(code)


def _verdict(subject: Subject, seed: int, folder: Path) -> tuple[str | None, str | None]:
    try:
        return subject(seed, folder), None
    except Fault as fault:
        return None, str(fault)
    except BaseException as error:
        return None, f"{type(error).__name__}: {error}"[:1000]


def run(subjects: dict[str, Subject], counts: dict[str, int], first: int, folder: Path, log: Path | None) -> int:
    """Campaigns of several subjects, told as they go; the number of faults."""
    faults = 0
    for name, count in counts.items():
        began, place = time.process_time(), folder / name
        place.mkdir(parents=True, exist_ok=True)

        def tell(seed: int, end: str | None, fault: str | None, name: str = name) -> None:
            if fault is not None:
                _say(log, {"subject": name, "seed": seed, "fault": fault})
            elif (seed - first) % 1000 == 999:
                _say(log, {"subject": name, "to": seed})

        tally = campaign(subjects[name], range(first, first + count), place, tell)
        faults += len(tally.faults)
        summary = {"first": first, "cases": count, "ends": dict(tally.ends), "faults": len(tally.faults)}
        _say(log, {"subject": name, **summary, "seconds": round(time.process_time() - began, 1)})
    return faults


def _say(log: Path | None, what: dict[str, Any]) -> None:
    line = json.dumps(what, ensure_ascii=False)
    print(line, flush=True)
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    sys.stdout.flush()
