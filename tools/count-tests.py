#!/usr/bin/env python3
"""Sum up Meson's test logs: count-tests.py [--failed] BUILD...

Prints one line for each build directory, then each case that failed, then one line: the sum over all builds and
the names of failed tests. Test cases come from the JUnit log. A program that died or ran out of time after its last
reported case shows only in the JSON log and counts as one more failure. Where there is a log "testlog-again" of
failed tests that ran once more, it counts for them. Exit status 1 when something failed or a build ran no test.

With --failed: prints the names of the tests in "testlog" that failed, and their whole output to standard error.
"""
import json
import os
import sys
import xml.etree.ElementTree as ET

BAD = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}


def tests(build, log):
    """The tests of a log by their names, without suites."""
    path = "%s/meson-logs/%s.json" % (build, log)
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        return {test["name"].split(" / ")[-1]: test for test in map(json.loads, f)}


def failed(log):
    return [name for name, test in log.items() if test["result"] in BAD]


def verdict(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return 1
    return 2 if case.find("skipped") is not None else 0


def cases(build, log):
    """(test, case, verdict) for each case; a case's class is PROJECT.PROJECT:SUITE / TEST, or its name is the test's."""
    for case in ET.parse("%s/meson-logs/%s.junit.xml" % (build, log)).getroot().iter("testcase"):
        test = case.get("classname") if "." in case.get("classname") else case.get("name")
        yield test.split(" / ")[-1], case.get("name"), verdict(case)


def count(build):
    """[passed, failed, skipped], lines about failures, failed tests, and tests that passed only when they ran again."""
    counts, lines = [0, 0, 0], []
    first, again = tests(build, "testlog"), tests(build, "testlog-again")
    # A test that is skipped when it runs again has not passed.
    bad = failed(
        {**first, **{name: test for name, test in again.items() if test["result"] != "SKIP"}}
    )
    found = [c for c in cases(build, "testlog") if c[0] not in again] + (
        list(cases(build, "testlog-again")) if again else []
    )
    for test, case, v in found:
        counts[v] += 1
        if v == 1:
            lines.append("%s: %s: %s" % (build, test, case))
    bad += sorted({test for test, _, v in found if v == 1} - set(bad))
    for test in set(bad) - {test for test, _, v in found if v == 1}:
        counts[1] += 1
        lines.append("%s: %s: %s" % (build, test, {**first, **again}[test]["result"]))
    return counts, lines, bad, [test for test in failed(first) if test not in bad]


def name_failed(build):
    for name in failed(log := tests(build, "testlog")):
        print(name)
        output = log[name].get("stdout", "") + log[name].get("stderr", "")
        print(
            "== %s: %s failed; its output:\n%s== end of the output of %s"
            % (build, name, output, name),
            file=sys.stderr,
        )


def main(builds):
    total, lines, bad, late = [0, 0, 0], [], [], []
    for build in builds:
        counts, its_lines, its_bad, its_late = count(build)
        print("%-14s %d passed, %d failed, %d skipped" % (build, *counts))
        total = [sum(column) for column in zip(total, counts)]
        lines += its_lines
        bad += ["%s of %s" % (test, build) for test in its_bad]
        late += ["%s of %s" % (test, build) for test in its_late]
        if not sum(counts):
            bad.append("%s: it ran no test" % build)
    print(*lines, sep="\n", end="\n" if lines else "")
    summary = "%d passed, %d failed, %d skipped" % tuple(total)
    if late:
        summary += "; passed only when run again: " + ", ".join(late)
    if bad:
        summary += "; FAILED: " + ", ".join(bad)
    print(summary)
    return 1 if bad else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--failed"]:
        name_failed(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))
