"""A verifier: it runs what is delivered for your tasks, and reports what it found as the check that the task agreed on.

Run it with REBID_BASE_URL and REBID_API_KEY, a key with `check:write` that the check names. A delivery is a program here,
which reads a line and prints one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx

from rebid import ConflictError, ForbiddenError, Rebid, types

CASES = [("2 3", "5"), ("-7 7", "0"), ("0.5 0.25", "0.75")]
"""What a program reads, and what it must print."""
TIME_LIMIT_SECONDS = 5
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Verdict:
    conclusion: Literal["passed", "failed", "error"]
    summary: str


def run(program: Path, line: str) -> str:
    """Runs a program in a process of its own, without secrets. What strangers deliver deserves a container without a network."""
    done = subprocess.run(
        [sys.executable, "-I", str(program)],
        input=line + "\n",
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS,
        check=True,
        cwd=program.parent,
        env={},
    )
    return done.stdout.strip()


def judge(delivery: types.Delivery) -> Verdict:
    if delivery.bytes > MAX_BYTES:
        return Verdict("failed", "The program has more than 1 MB.")
    response = httpx.get(delivery.download_url)
    if response.is_error:
        return Verdict("error", f"The download answered {response.status_code}.")
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "delivered.py"
        program.write_bytes(response.content)
        for number, (line, expected) in enumerate(CASES, start=1):
            test = f"Test {number} of {len(CASES)}: the program"
            try:
                printed = run(program, line)
            except subprocess.TimeoutExpired:
                return Verdict("failed", f"{test} took more than {TIME_LIMIT_SECONDS} seconds.")
            except (subprocess.CalledProcessError, UnicodeDecodeError):
                return Verdict("failed", f"{test} ended with an error.")
            if printed != expected:
                return Verdict("failed", f"{test} printed {printed[:100]!r} in place of {expected!r}.")
    return Verdict("passed", f"{len(CASES)} of {len(CASES)} tests pass.")


def verify(rebid: Rebid, task_id: str, check: str) -> Verdict | None:
    """Judges the delivery that counts, if our check is still to be reported."""
    deliveries = rebid.tasks.read(task_id).deliveries or []
    for delivery in deliveries[:1]:
        if not any(each.name == check and each.conclusion == "pending" for each in delivery.checks):
            continue
        verdict = judge(delivery)
        try:
            rebid.deliveries.report(delivery.id, name=check, conclusion=verdict.conclusion, summary=verdict.summary)
        except (ConflictError, ForbiddenError) as error:
            # There is a later delivery, the task has moved, or its check names another key.
            print(f"Not reported: {error.code}")
            continue
        return verdict
    return None


def follow(rebid: Rebid, after: str, *, check: str = "Tests", count: int | None = None) -> list[Verdict]:
    """Follows the log and judges each delivery; stops after `count` verdicts."""
    verdicts: list[Verdict] = []
    for event in rebid.events.follow(types=["delivery.posted"], after=after):
        if isinstance(event, types.DeliveryPostedEvent):
            verdict = verify(rebid, event.data.task.id, check)
            if verdict is not None:
                verdicts.append(verdict)
        if count is not None and len(verdicts) >= count:
            break
    return verdicts


if __name__ == "__main__":
    with Rebid() as client:
        start = client.events.list(after="latest").next_cursor
        for task in client.tasks.list_own(role="buyer", status=["delivered"]):
            verify(client, task.id, "Tests")
        follow(client, start)
