#!/usr/bin/env python3
"""Print what ninja must build for the tests of some suites: test-targets.py BUILD SUITE..."""
import json
import os
import sys

build, suites = sys.argv[1], set(sys.argv[2:])


def introspected(kind):
    with open("%s/meson-info/intro-%s.json" % (build, kind)) as f:
        return json.load(f)


needed = set()
for test in introspected("tests"):
    if suites & {suite.split(":")[-1] for suite in test["suite"]}:
        needed.update(test["depends"])
for target in introspected("targets"):
    if target["id"] in needed:
        print(*(os.path.relpath(name, os.path.realpath(build)) for name in target["filename"]))
