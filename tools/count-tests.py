#!/usr/bin/env python3
"""Sum up Meson's test logs: count-tests.py BUILD...

Prints one line a build directory, what failed and what it said, and, last,
"N passed, N failed, N skipped" over all of them. Test cases come from the JUnit log; a program that died or
ran out of time after its last reported case shows only in the JSON log and
counts as one more failure. Exit status 1 when something failed or a build
ran no test.
"""
import json
import sys
import xml.etree.ElementTree as ET

BAD = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}
TOLD_LINES = 30


def verdict(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return 1
    return 2 if case.find("skipped") is not None else 0


def count(build, failures):
    """[passed, failed, skipped]; what failed is added to failures, a few lines each."""
    counts = [0, 0, 0]
    failed_tests = set()  # a case's class is PROJECT.TEST, or its name is the test's
    for case in ET.parse(build + "/meson-logs/testlog.junit.xml").getroot().iter("testcase"):
        v = verdict(case)
        counts[v] += 1
        if v == 1:
            failed_tests.update((case.get("classname").split(".", 1)[-1], case.get("name")))
            failures.append("%s: %s: %s" % (build, case.get("classname"), case.get("name")))
    with open(build + "/meson-logs/testlog.json") as f:
        for line in f:
            test = json.loads(line)
            if test["result"] in BAD and test["name"] not in failed_tests:
                counts[1] += 1
                failures.append("%s: %s: %s" % (build, test["name"], test["result"]))
            if test["result"] in BAD:
                failures += told(test)
    return counts


def told(test):
    """The last lines of what a failed test printed, but for cases that passed."""
    lines = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
    return ["    " + line for line in lines if not line.startswith("ok ")][-TOLD_LINES:]


def main(builds):
    failures = []
    counts = [count(b, failures) for b in builds]
    for build, c in zip(builds, counts):
        print("%-14s %d passed, %d failed, %d skipped" % (build, *c))
    print(*failures, sep="\n", end="\n" if failures else "")
    total = [sum(column) for column in zip(*counts)]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 1 if total[1] or any(sum(c) == 0 for c in counts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
