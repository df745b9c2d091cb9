#!/usr/bin/env python3
"""Hold the source tree to its rules: check-layers.py [ROOT] [--floors FOLDER]

Prints FILE:LINE: what is wrong; what would be right. Exit status 1 when a
rule is broken. LAYERS is the layer table; ARCHITECTURE.md shows it.

With --floors it prints the files of a folder below src by floor, circles of
files, and how many calls climb from a lower floor to a higher one.
"""
import os
import re
import sys

# Folder below src: the folders it may include besides itself. Private headers live there too.
# A sub-folder may have a row of its own ("plan/assign"); without one it belongs to the folder above it.
LAYERS = {
    "base": [],
    "core": ["base"],
    "trace": ["base", "core"],
    "model": ["base", "core"],
    "trees": ["base"],
    "predict": ["base", "core", "trees"],
    "store": ["base", "core"],
    "gpu": ["base", "core"],
    "plan/assign": ["base", "core"],
    "fair": ["base", "core"],
    "learn": ["base", "core"],
    "plan": ["base", "core", "trees", "predict", "plan/assign"],
    "partition": ["base", "core", "trees", "predict", "plan/assign", "plan"],
    "policy": ["base", "core", "trees", "predict", "plan/assign", "plan"],
    "measure": ["base", "core", "gpu"],
    "launch": ["base", "core", "gpu"],
    "profile": ["base", "core", "gpu", "measure", "store", "launch"],
    "run": ["base", "core", "gpu", "store", "measure", "launch", "learn"],
    "sim": ["base", "core", "model"],
    "arbiter": ["base", "core", "gpu", "measure", "store", "launch", "fair"],
    "report": ["base", "core"],
    "app": [
        "base",
        "core",
        "trace",
        "model",
        "trees",
        "predict",
        "store",
        "gpu",
        "plan/assign",
        "fair",
        "learn",
        "partition",
        "plan",
        "policy",
        "measure",
        "launch",
        "profile",
        "run",
        "sim",
        "arbiter",
        "report",
    ],
    "cluster": [
        "base",
        "core",
        "trace",
        "model",
        "trees",
        "predict",
        "store",
        "gpu",
        "plan/assign",
        "fair",
        "learn",
        "partition",
        "plan",
        "policy",
        "measure",
        "launch",
        "profile",
        "run",
        "sim",
        "arbiter",
        "report",
        "app",
    ],
    "cli": [
        "base",
        "core",
        "trace",
        "model",
        "trees",
        "predict",
        "store",
        "gpu",
        "plan/assign",
        "fair",
        "learn",
        "partition",
        "plan",
        "policy",
        "measure",
        "launch",
        "profile",
        "run",
        "sim",
        "arbiter",
        "report",
        "app",
        "cluster",
    ],
}

# The lab may use these folders of src and these headers of others. Nothing uses the lab.
LAB = "lab"
LAB_MAY = ["base", "core", "model"]
LAB_MAY_SEE = {"gpu/nvml_abi.h", "gpu/dcgm_abi.h"}

# The preload library uses the protocol and the check of names from src. Only its test uses the library.
PRELOAD = "interpose"
PRELOAD_MAY_SEE = {"fair/fair_wire.h", "base/utf8.h"}

# Programs that reproduce papers: each folder may use all of include and src, itself, and these. Nothing uses them.
PAPERS = "papers"
PAPERS_SHARE = {
    "usage.h",
    "fuzz_file.h",
    "fuzz_loader.h",
    "slices_plain.h",
    "assign_bench.h",
    "unit_test.h",
    "enumeration.h",
    "plan_bench.h",
    "paper_regressor.h",
    "rows_to_learn.h",
}

# Public header in include/heshare: the lowest folder that it belongs to. A policy's request is what src/plan solves.
HEADERS = {
    "err.h": "base",
    "version.h": "base",
    "training_range.h": "core",
    "gpu_type.h": "core",
    "fleet.h": "core",
    "job.h": "core",
    "plan.h": "core",
    "attribute.h": "core",
    "profile.h": "core",
    "point.h": "core",
    "replay.h": "core",
    "front.h": "core",
    "store.h": "store",
    "tenant_power.h": "store",
    "tenant_usage.h": "store",
    "draw.h": "model",
    "trace.h": "trace",
    "model.h": "model",
    "predict.h": "predict",
    "policy.h": "plan",
    "fair.h": "fair",
    "fair_queue.h": "fair",
    "partition.h": "partition",
    "sim.h": "sim",
    "report.h": "report",
    "activity.h": "gpu",
    "device.h": "gpu",
    "capabilities.h": "gpu",
    "mps.h": "gpu",
    "measure.h": "measure",
    "journal.h": "store",
    "profiler.h": "profile",
    "run.h": "run",
}

# Only programs talk to people, end the process or look at the world around them.
PROGRAMS = {"cli"}
NOT_IN_LIBRARY = re.compile(
    r"\b(exit|_exit|abort|printf|puts|putchar|perror|getenv|setenv|system|popen)\s*\("
)
# Streams of a terminal: only a program has one. Files that it passes on are written as any other.
STREAMS = re.compile(r"\b(stdout|stderr)\b")
ENVIRONMENT = re.compile(r"\b(environ)\b")
ALLOWED = {
    ("src/base/file.c", "stdout"),  # the file "-"
    ("src/report/gnuplot.c", "getenv"),  # starts a process, which needs PATH
    ("src/gpu/spawn.c", "_exit"),
    ("src/launch/start_run.c", "_exit"),
    ("src/launch/wrap.c", "_exit"),  # new processes that could not become a program
    ("src/app/policy_program.c", "environ"),
    ("src/cluster/launcher.c", "environ"),
    ("src/gpu/spawn.c", "environ"),
    ("src/launch/guard.c", "environ"),
    ("src/launch/start.c", "environ"),  # what processes that they start inherit
    ("src/launch/undo_check.c", "environ"),  # the mark that its own process got
}
# What is decided depends on data, time and seed alone.
PURE = {"fair", "learn", "partition", "plan", "plan/assign", "policy", "sim"}
NOT_IN_PURE = re.compile(
    r"\b(time|clock|clock_gettime|gettimeofday|hes_(?:clock|monotonic|boottime|wall)_\w+|rand|random|srand|fopen|open|fprintf)\s*\("
)

# A test file is flat and reads from anywhere.
MAX_LINES = {
    "src": 780,
    "lab": 720,
    "interpose": 680,
    "bench": 720,
    "papers": 620,
    "tests": 900,
}
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


class Tree:
    def __init__(self, root):
        self.root = root
        self.problems = 0

    def say(self, path, line, wrong, right):
        print("%s:%d: %s; %s" % (path, line, wrong, right))
        self.problems += 1

    def files(self, *folders):
        for folder in folders:
            for at, _, names in sorted(os.walk(os.path.join(self.root, folder))):
                for name in sorted(names):
                    if name.endswith((".c", ".h")):
                        yield os.path.relpath(os.path.join(at, name), self.root)

    def lines(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as f:
            return f.read().splitlines()


def folder_of(path):
    """The folder of the layer table that a path below src belongs to: the longest row that matches; else its first part."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in LAYERS:
            return "/".join(parts[:length])
    return parts[0] if parts else None


def owner(path):
    """The folder a source file belongs to; None for a public header that no folder owns."""
    top, _, rest = path.partition(os.sep)
    return HEADERS.get(os.path.basename(path)) if top == "include" else folder_of(rest)


def included_folder(name):
    """The folder that an included file belongs to, or None when it is unknown."""
    head, _, tail = name.partition("/")
    if head == "heshare":
        return HEADERS.get(tail)
    return folder_of(name) if head in LAYERS else None


def check_include(tree, path, number, name):
    mine = owner(path)
    theirs = included_folder(name)
    if theirs is None:
        tree.say(
            path,
            number,
            'includes "%s", which belongs to no folder of the layer table' % name,
            'write "heshare/NOUN.h" or "FOLDER/FILE.h", and give a new header its row in tools/check-layers.py',
        )
    elif theirs != mine and theirs not in LAYERS[mine]:
        tree.say(
            path,
            number,
            '%s includes "%s" of %s' % (mine, name, theirs),
            "%s may use %s" % (mine, ", ".join(LAYERS[mine]) or "libc alone"),
        )
    elif path.startswith("include") and not name.startswith("heshare/"):
        tree.say(
            path,
            number,
            'a public header includes the private "%s"' % name,
            "public headers include heshare/*.h only",
        )


def check_includes(tree):
    for path in tree.files("include", "src"):
        if owner(path) not in LAYERS:
            tree.say(
                path,
                1,
                "belongs to no folder of the layer table",
                "add its row to tools/check-layers.py and ARCHITECTURE.md",
            )
            continue
        for number, line in enumerate(tree.lines(path), 1):
            found = INCLUDE.match(line)
            if found:
                check_include(tree, path, number, found.group(1))


def check_lab(tree):
    """The lab is outside of the layers: it uses the physics and nothing of its users."""
    for path in tree.files(LAB):
        for number, line in enumerate(tree.lines(path), 1):
            found = INCLUDE.match(line)
            name = found and found.group(1)
            if (
                not name
                or name in LAB_MAY_SEE
                or os.path.exists(os.path.join(tree.root, LAB, name))
            ):
                continue
            if included_folder(name) not in LAB_MAY:
                tree.say(
                    path,
                    number,
                    'the lab includes "%s"' % name,
                    "it may use %s and %s" % (", ".join(LAB_MAY), ", ".join(sorted(LAB_MAY_SEE))),
                )


def check_preload(tree):
    """The preload library is loaded by programs that nobody here built: it has libc, itself and the protocol."""
    for path in tree.files(PRELOAD):
        for number, line in enumerate(tree.lines(path), 1):
            found = INCLUDE.match(line)
            name = found.group(1) if found else None
            if (
                name
                and name not in PRELOAD_MAY_SEE
                and not os.path.exists(os.path.join(tree.root, PRELOAD, name))
            ):
                tree.say(
                    path,
                    number,
                    'the preload library includes "%s"' % name,
                    "it may use its own files and " + ", ".join(sorted(PRELOAD_MAY_SEE)),
                )


def check_papers(tree):
    """A paper's folder uses the project and itself, never another paper's; src may not use it (check_includes)."""
    for path in tree.files(PAPERS):
        for number, line in enumerate(tree.lines(path), 1):
            found = INCLUDE.match(line)
            places = ("include", "src", os.path.dirname(path))
            if (
                found
                and found.group(1) not in PAPERS_SHARE
                and not any(
                    os.path.exists(os.path.join(tree.root, place, found.group(1)))
                    for place in places
                )
            ):
                tree.say(
                    path,
                    number,
                    'a paper includes "%s"' % found.group(1),
                    "it may use include, src and files of its own folder",
                )


def code_only(lines):
    """Lines without comments and literals, so that words in them are not taken for calls."""
    text = "\n".join(lines)
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S).split("\n")


def check_calls(tree):
    for path in tree.files("src"):
        mine = owner(path)
        if mine in PROGRAMS:
            continue
        for number, line in enumerate(code_only(tree.lines(path)), 1):
            for pattern, applies, right in (
                (
                    NOT_IN_LIBRARY,
                    True,
                    "return a negative errno and a sentence; programs do the rest",
                ),
                (STREAMS, True, "tell a listener, or write to a file that the program names"),
                (ENVIRONMENT, True, "take what the program read from it"),
                (
                    NOT_IN_PURE,
                    mine in PURE,
                    "take it as a parameter; results depend on data, time and seed alone",
                ),
            ):
                found = pattern.search(line) if applies else None
                if found and (path, found.group(1)) not in ALLOWED:
                    tree.say(path, number, "%s uses %s" % (mine, found.group(1)), right)


def check_files(tree):
    seen = {}
    for path in tree.files("src", LAB, PRELOAD, "tests", "bench", PAPERS):
        name = os.path.basename(path)
        if name in seen:
            tree.say(
                path,
                1,
                "%s is also the name of %s" % (name, seen[name]),
                "file names are unique in the tree",
            )
        seen[name] = path
        kind = "tests" if name.startswith("test_") else path.split(os.sep)[0]
        length, most = len(tree.lines(path)), MAX_LINES[kind]
        if length > most:
            tree.say(
                path, most, "%d lines" % length, "split it by mechanism; at most %d lines" % most
            )


# Folders without circles of files: none of two files leads to the other and back, by calls or includes.
NO_CIRCLES = ["app", "arbiter", "cluster", "run"]
# A function at the beginning of a line, its type before it, up to its body.
DEFINED = re.compile(r"^(?!static\b(?! inline)|typedef\b)[a-z][\w \*\n]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
CALLED = re.compile(r"\b([a-z]\w*)\s*\(")


class Floors:
    """The files of a folder, NAME.c with NAME.h, and what each uses of the others."""

    def __init__(self, tree, folder):
        self.code, self.includes, home = {}, {}, {}
        for path in tree.files(os.path.join("src", folder)):
            unit = os.path.splitext(os.path.basename(path))[0]
            lines = tree.lines(path)
            code = "\n".join(code_only(lines))
            self.code[unit] = self.code.get(unit, "") + code + "\n"
            found = (INCLUDE.match(line) for line in lines)
            self.includes.setdefault(unit, set()).update(
                os.path.splitext(os.path.basename(f.group(1)))[0]
                for f in found
                if f and folder_of(f.group(1)) == folder
            )
            home.update((name, unit) for name in DEFINED.findall(code))
        self.calls = {
            unit: [
                home[n]
                for line in code.split("\n")
                if line[:1].isspace()  # else it declares or defines
                for n in CALLED.findall(line)
                if home.get(n, unit) != unit
            ]
            for unit, code in self.code.items()
        }
        self.uses = {
            unit: (self.includes[unit] | set(self.calls[unit])) - {unit} for unit in self.code
        }

    def reach(self, unit):
        seen, todo = set(), [unit]
        while todo:
            for used in self.uses.get(todo.pop(), ()):
                if used not in seen:
                    seen.add(used)
                    todo.append(used)
        return seen

    def circles(self):
        """Each circle as the sorted files that lead to one another."""
        found = set()
        for unit in self.uses:
            mine = {u for u in self.reach(unit) if unit in self.reach(u)}
            if mine:
                found.add(tuple(sorted(mine)))
        return sorted(found)

    def floors(self):
        """1: uses no file of the folder; else one above all that a file includes."""
        floors = {}

        def floor(unit, above):
            if unit not in floors and unit not in above:
                used = self.includes.get(unit, set()) - {unit}
                floors[unit] = 1 + max((floor(u, above | {unit}) for u in used), default=0)
            return floors.get(unit, 0)

        for unit in self.code:
            floor(unit, frozenset())
        return floors


def check_circles(tree):
    for folder in NO_CIRCLES:
        for circle in Floors(tree, folder).circles():
            tree.say(
                os.path.join("src", folder, circle[0] + ".c"),
                1,
                "a circle of files: " + ", ".join(circle),
                "what both need belongs in a file below them, or what calls back in one above",
            )


# Names that begin with hes_ are of the installed API and of stages.
COMPOSE = ("app", "cluster", "cli")


def check_prefixes(tree):
    for folder in COMPOSE:
        for path in tree.files(os.path.join("src", folder)):
            for name in DEFINED.findall("\n".join(code_only(tree.lines(path)))):
                if name.startswith("hes_"):
                    tree.say(
                        path,
                        1,
                        "defines %s()" % name,
                        "begin with the noun of the file, or with app_ or cli_",
                    )


def print_floors(tree, folder):
    f = Floors(tree, folder)
    floors = f.floors()
    for floor in range(max(floors.values(), default=0), 0, -1):
        print("%2d  %s" % (floor, " ".join(sorted(u for u in floors if floors[u] == floor))))
    for circle in f.circles():
        print("circle: " + ", ".join(circle))
    calls = [(u, to) for u in f.calls for to in f.calls[u]]
    climbs = sum(floors[u] < floors[to] for u, to in calls)
    print(
        "%d circles; %d of %d calls between files climb, %.1f %%"
        % (len(f.circles()), climbs, len(calls), 100.0 * climbs / max(len(calls), 1))
    )


# States are set in the file that owns them: folder below src, states, file, what to do instead.
STATES = [
    ("run", "TASK|RUN", "run_task.c", "call a transition of run_task.h"),
    ("arbiter", "FAIR", "leases.c", "call an event of leases.h"),
]


def check_states(tree):
    for folder, states, home, right in STATES:
        state_set = re.compile(r"(?:->|\.)state\s*=\s*(?:%s)_[A-Z]+\b" % states)
        for path in tree.files(os.path.join("src", folder)):
            for number, line in enumerate(code_only(tree.lines(path)), 1):
                if os.path.basename(path) != home and state_set.search(line):
                    tree.say(path, number, "sets a state that %s owns" % home, right)


def check_table(tree):
    """ARCHITECTURE.md's layer table says what LAYERS says, and the files that it names exist."""
    path = "ARCHITECTURE.md"
    if not os.path.exists(os.path.join(tree.root, path)):
        return
    rows = {}
    for number, line in enumerate(tree.lines(path), 1):
        found = re.match(r"\| \d \| `src/([\w/]+)` \|.*\| ([^|]*) \|$", line)
        if found:
            rows[found.group(1)] = (number, re.findall(r"[\w/]+", found.group(2)))
        for name in re.findall(r"`((?:src|data|tools|lab)/[\w./-]+\.\w+)`", line):
            if not os.path.exists(os.path.join(tree.root, name)):
                tree.say(
                    path,
                    number,
                    "names %s, which is not there" % name,
                    "name the file that took its place",
                )
    for folder, may in LAYERS.items():
        number, shown = rows.get(folder, (1, None))
        if shown is None or (
            sorted(shown) != sorted(may)
            and shown != ["all"]
            and not (shown == ["libc"] and not may)
        ):
            tree.say(
                path,
                number,
                "the layer table's row of src/%s differs from tools/check-layers.py" % folder,
                "it may use: %s" % (", ".join(may) or "libc"),
            )


def main(root):
    tree = Tree(root)
    for check in (
        check_includes,
        check_lab,
        check_preload,
        check_papers,
        check_calls,
        check_files,
        check_circles,
        check_prefixes,
        check_states,
        check_table,
    ):
        check(tree)
    return 1 if tree.problems else 0


if __name__ == "__main__":
    HERE = os.path.join(os.path.dirname(__file__), "..")
    if len(sys.argv) > 2 and sys.argv[-2] == "--floors":
        print_floors(Tree(sys.argv[1] if len(sys.argv) > 3 else HERE), sys.argv[-1])
        sys.exit(0)
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else HERE))
