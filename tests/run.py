#!/usr/bin/env python3
"""Runs all test programs, one more side by side than there are processors: most of their time they wait, for a control plane or a
simulated cloud. `cargo test` would run one after the other.

In a program that mostly waits as many tests run side by side as it has control planes (`POOL` of
`tests/src/control_plane/cluster.rs`), in the others one less.

What a program printed is shown when it has ended. At the end each that took a second has a line with its seconds, and the CPU
seconds of itself and of its children that have ended; then come the slowest ten tests, and those that failed with their panics.
The exit code is 0 if all succeeded. STREAMS=1 runs one program at a time, RUST_TEST_THREADS=1 one test of each.

What needs root and services of its own is left out: `make test-openstack`. The Pod's story is left out where `make test-pod` has not
made its machines; MACHINES names them where it has.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading
import time

CARGO = shlex.split(os.environ.get("CARGO") or "cargo")
STREAMS = max(1, int(os.environ.get("STREAMS") or (os.cpu_count() or 1) + 1))
# Those that take longest, so that none of them begins last.
FIRST = [
    "whole", "aws", "process", "azure", "deploy", "conformance", "openstack", "gcp", "ibm", "golden", "volumes", "modules", "alibaba",
    "provider", "services", "routes", "newcomer",
]
# Their tests start the binary again and again, and each start compiles a module.
BUSY = {"whole", "process", "aws", "modules"}
# make test-pod and make test-openstack run them.
LEFT_OUT = {"real_openstack"} if os.environ.get("MACHINES") else {"pod", "real_openstack"}
SLOWEST = 10
# Characters of a failed test's panic that are shown once more at the end.
SHOWN = 1500
# Lets each test's line end with its seconds. The test harness calls it unstable, and wants RUSTC_BOOTSTRAP for it.
TIMES = ["-Z", "unstable-options", "--report-time"]
LOCK = threading.Lock()


def say(text):
    with LOCK:
        print(text, flush=True)


def programs():
    """The name, command and folder of each test program; and the tests in docs, which cargo compiles and runs."""
    listed = subprocess.run(
        [*CARGO, "test", "--locked", "--workspace", "--no-run", "--quiet", "--message-format=json-render-diagnostics"],
        stdout=subprocess.PIPE, check=True, text=True,
    ).stdout
    found = []
    for line in listed.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            folder = pathlib.Path(message["manifest_path"]).parent
            kinds = message["target"]["kind"]
            name = message["target"]["name"]
            if "test" in kinds and name in LEFT_OUT:
                continue
            title = name if "test" in kinds else f"{folder.name} ({kinds[0]} {name})"
            found.append((title, [message["executable"], *TIMES], folder))
    here = pathlib.Path.cwd()
    found.append(("docs", [*CARGO, "test", "--locked", "--workspace", "--no-fail-fast", "--doc"], here))
    order = {name: number for number, name in enumerate(FIRST)}
    return sorted(found, key=lambda it: order.get(it[0], len(order)))


def run(name, command, folder):
    """Runs one program, shows what it printed, and returns its line for the end, the seconds of each of its tests, and those that failed."""
    say(f"==> {name}: begins")
    log = pathlib.Path("target/test-logs", re.sub(r"\W+", "-", name) + ".log").absolute()
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with log.open("wb") as output:
        threads = os.environ.get("RUST_TEST_THREADS") or ("3" if name in BUSY else "4")
        environment = {**os.environ, "RUST_TEST_THREADS": threads}
        if TIMES[0] in command:
            # Not for cargo: with either of them it compiles everything once more.
            environment |= {"CARGO_MANIFEST_DIR": str(folder), "RUSTC_BOOTSTRAP": "1"}
        program = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
    took = time.monotonic() - began
    text = log.read_text(errors="replace")
    passed = sum(int(it) for it in re.findall(r"^test result: .*?(\d+) passed", text, re.M))
    tests = [(float(seconds), f"{name}: {test}") for test, seconds in re.findall(r"^test (.+) \.\.\. .*<([\d.]+)s>", text, re.M)]
    ended = "ok" if program.returncode == 0 else f"FAILED ({program.returncode})"
    say(f"\n     Running {name} ({command[0]})\n{text}\n==> {name}: {ended} after {took:.0f} s")
    # From the line of the panic on, which follows what the test itself printed.
    failed = [f"{name}: {test}\n{panic[:SHOWN]}" for test, panic in
              re.findall(r"^---- (\S+) stdout ----$.*?^(thread .+? panicked at .+?)(?=^---- |^failures:$|\Z)", text, re.M | re.S)]
    return program.returncode, name, ended, passed, took, used.ru_utime + used.ru_stime, tests, failed


def main():
    waiting, ended, began = programs(), [], time.monotonic()
    total = len(waiting)

    def stream():
        while True:
            with LOCK:
                if not waiting:
                    return
                program = waiting.pop(0)
            ended.append(run(*program))

    threads = [threading.Thread(target=stream) for _ in range(STREAMS)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        with LOCK:
            waiting.clear()
        raise
    print(f"\n{'program':32} {'tests':>6} {'seconds':>8} {'of CPU':>8}")
    for _, name, how, passed, took, used, *_ in sorted(ended, key=lambda it: -it[4]):
        if took >= 1 or how != "ok":
            print(f"{name:32} {passed:6} {took:8.0f} {used:8.0f}  {'' if how == 'ok' else how}".rstrip())
    tests, used = sum(it[3] for it in ended), sum(it[5] for it in ended)
    print(f"{'all':32} {tests:6} {time.monotonic() - began:8.0f} {used:8.0f}")
    print("\nThe slowest tests:")
    for seconds, test in sorted((it for program in ended for it in program[6]), reverse=True)[:SLOWEST]:
        print(f"{seconds:7.1f} s  {test}")
    failed = [name for code, name, *_ in ended if code]
    for test in (test for program in ended for test in program[7]):
        print(f"\nerror: {test}")
    if failed:
        print(f"error: {len(failed)} of {total} programs failed: {', '.join(failed)}", file=sys.stderr)
    if len(ended) < total:
        print(f"error: {total - len(ended)} of {total} programs did not run to their end", file=sys.stderr)
    return 1 if failed or len(ended) < total else 0


if __name__ == "__main__":
    sys.exit(main())
