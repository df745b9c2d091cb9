#!/usr/bin/env python3
"""Change the source in small ways and see whether tests notice: mutants.py [--seed N] [--count N] [--list FILE] [--unit]

Each mutant has one change in planning, physics, attribution or launch: an operator, comparison or constant, swapped
arguments, a deleted statement, a negated condition. Sizes of memory and the words of messages stay as they are. A copy of
the tree in build-mutants takes them one after another. Unit tests that link the changed file run, the quickest first, then
the golden ones, then the tests of commands for that area; the first failure ends it.

--list FILE  these instead: lines of file, text before, text after, with tabs between; the text occurs once in the file
--unit       unit tests alone
--most N     exit status 1 where more survive (3; of a list 0)

Prints survivors and, as the last line, a summary in JSON. Runs in namespaces of its own, and refuses without them.
"""
import argparse
import collections
import glob
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build-mutants"
TREE, BUILD = FOLDER / "tree", FOLDER / "tree/build"
AREAS = {
    "planning": ["src/plan/**/*.c", "src/policy/*.c"],
    "physics": ["src/model/*.c", "tools/measured/*.c"],
    "attribution": ["src/core/attribute.c", "src/run/account.c"],
    "launch": ["src/launch/*.c"],
}
COMMANDS = {
    "planning": ["cli-plan", "cli-simulate"],
    "physics": ["cli-model", "cli-calibrate", "cli-partition"],
    "attribution": ["cli-run_joules", "cli-run"],
    "launch": ["cli-run", "cli-run_users", "cli-restore", "cli-status"],
}
# Text that only people read, and memory: more of it than is needed changes nothing.
WORDS = r"\b(?:hes_fail|hes_fail_in|fprintf|printf|fputs|strerror)\("
SIZES = r"\b(?:calloc|malloc|realloc|reallocarray)\(|^\t*(?:static |const )*char \w+\[|\*= 2;"
QUICK_S = 20  # unit tests that need more processor time are left out
PATIENT_S = 600  # a test that takes longer hangs
ISOLATE = ["unshare", "--fork", "--pid", "--mount-proc", "--cgroup", "--kill-child"]
NUMBER = r"(?<![\w.])(\d+(?:\.\d+)?)(?![\w.])"
ARGUMENT = r"([\w.>\[\]&*-]+)"
SYMMETRIC = r"\b(?:fmin|fmax|strcmp)\($"  # the order of arguments means nothing, as long as
ORDERED = r"\) [<>]|\);"  # the sign of strcmp() does not count
OTHER = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "&&": "||",
    "||": "&&",
    "<": ">=",
    "<=": "<",
    ">": "<=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
}
Mutant = collections.namedtuple("Mutant", "area kind file line before after start old new")


def blanked(text):
    """The same length, without comments, strings and lines for the preprocessor other than numbers of #define."""
    gone = r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^#(?!define \w+ +[\d.]+\b)[^\n]*(?:\\\n[^\n]*)*"
    return re.sub(gone, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S | re.M)


def changes(line):
    """Kind, start, end and replacement of each change of a line of code."""
    if not line.strip():
        return
    for m in re.finditer(r" (&&|\|\||[<>=!]=|[-+*/<>]) (?=\S)", line):
        yield "comparison" if m[1][0] in "<>=!" else "operator", m.start(1), m.end(1), OTHER[m[1]]
    for m in re.finditer(NUMBER, line):
        if line[max(m.start() - 1, 0)] != "-" and line[0] == "\t" or line.startswith("#define"):
            yield "constant", m.start(), m.end(), "1" if m[1] == "0" else "0" if m[1] == "1" else m[
                1
            ] + " * 2"
    if line[0] != "\t":
        return
    for m in re.finditer(rf"(?<=\w\(){ARGUMENT}, {ARGUMENT}(?=[,)])", line):
        symmetric = re.search(SYMMETRIC, line[: m.start()]) and not (
            "strcmp" in line and re.match(ORDERED, line[m.end() :])
        )
        if m[1] != m[2] and not symmetric:
            yield "arguments", m.start(), m.end(), f"{m[2]}, {m[1]}"
    m = re.match(
        r"\t+(?!return|break|continue|goto|free|case|default)([\w.>\[\]*-]+(?: [-+*/|&]?= |\(|\+\+|--)[^;]*;)$",
        line,
    )
    if m:
        yield "statement", m.start(1), m.end(1), ";"
    m = re.match(r"\t+(?:if|while) \((.*)\)(?: \{)?$", line) or re.match(
        r"\t+return ([^;]*(?:[<>=!]=| [<>] |&&)[^;]*);$", line
    )
    if m and m[1].count("(") == m[1].count(")"):
        yield "condition", m.start(1), m.end(1), f"!({m[1]})"


def mutants_of(area, file):
    text = (TREE / file).read_text()
    start, found, statement = 0, [], ""
    for number, (line, code) in enumerate(zip(text.split("\n"), blanked(text).split("\n")), 1):
        statement = (
            code
            if re.search(r"[;{}:]\s*$", statement) or not statement.strip()
            else statement + code
        )
        for kind, at, end, new in () if re.search(f"{WORDS}|{SIZES}", statement) else changes(code):
            found.append(
                Mutant(
                    area,
                    kind,
                    file,
                    number,
                    line.strip(),
                    (line[:at] + new + line[end:]).strip(),
                    start + at,
                    line[at:end],
                    new,
                )
            )
        start += len(line) + 1
    return found


def drawn(seed):
    """Without end: the areas and the kinds in turn, each time one at random."""
    r = random.Random(seed)
    pool = collections.defaultdict(list)
    for area, patterns in AREAS.items():
        for file in sorted(
            f for p in patterns for f in glob.glob(p, root_dir=TREE, recursive=True)
        ):
            for m in mutants_of(area, file):
                pool[area, m.kind].append(m)
    for v in pool.values():
        r.shuffle(v)
    while any(pool.values()):
        for area in AREAS:
            kinds = sorted(kind for of, kind in pool if of == area and pool[of, kind])
            if kinds:
                yield pool[area, r.choice(kinds)].pop()


def listed(path):
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        file, old, new = line.split("\t")
        text = (TREE / file).read_text()
        if text.count(old) != 1:
            sys.exit(
                f"{path}:{number}: \"{old}\" is {text.count(old)} times in {file}; it must be there once"
            )
        yield Mutant(
            "list",
            "listed",
            file,
            text[: text.index(old)].count("\n") + 1,
            old,
            new,
            text.index(old),
            old,
            new,
        )


def copy_tree():
    """Files that changed since the last copy, so that little is built again."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.split("\0")
    for name in filter(None, names):
        to, source = TREE / name, ROOT / name
        if source.is_file() and not (to.is_file() and to.read_bytes() == source.read_bytes()):
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, to)


def run(command, limit_s, env=None):
    """@return exit status, or None where it took too long; then its group of processes is killed"""
    p = subprocess.Popen(
        command,
        cwd=BUILD,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return p.wait(limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        return None


def processor_s():
    """Of all children so far."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def built(*targets):
    return run(["ninja", *targets], 900) == 0


class Test:
    def __init__(self, t):
        self.name, self.env = t["name"], t["env"]
        self.command, self.target = t["cmd"], t["cmd"][-1]
        self.areas = [area for area, names in COMMANDS.items() if self.name in names]
        self.slow = bool(self.areas) or self.name == "golden"
        if self.slow:
            self.target = "src/cli/heshare"
        self.symbols = set()

    def fails(self, limit_s):
        """Slow tests have deadlines that a busy machine misses, so it takes two failures. @return 0, or what went wrong"""
        return run(self.command, limit_s, self.env) and (
            not self.slow or run(self.command, limit_s, self.env)
        )

    def measure(self):
        """@return whether it passes, and soon"""
        symbols = subprocess.run(
            ["nm", "--defined-only", BUILD / self.target],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.symbols = {line.split()[-1] for line in symbols.stdout.splitlines()}
        begun, before_s = time.monotonic(), processor_s()
        rc = self.fails(PATIENT_S)
        self.seconds = time.monotonic() - begun
        if rc:
            sys.exit(f"{self.name} fails without any change")
        quick = rc == 0 and (self.slow or processor_s() - before_s <= QUICK_S)
        if not quick:
            print(f"left out: {self.name} takes too long", flush=True)
        return quick

    def concerns(self, m, symbols):
        return m.area in self.areas if self.areas else bool(symbols & self.symbols)

    def notices(self):
        return (
            not built("all" if self.areas else self.target)
            or self.fails(10 + 5 * self.seconds) != 0
        )


def all_tests(unit_only):
    if not (BUILD / "build.ninja").exists():
        # Swapped arguments of other types are no mutants.
        flags = {
            **os.environ,
            "CFLAGS": "-Werror=int-conversion -Werror=incompatible-pointer-types",
        }
        subprocess.run(
            ["meson", "setup", BUILD, TREE], check=True, stdout=subprocess.DEVNULL, env=flags
        )
    built("build.ninja")  # where tests came or went since the last run
    listed = json.loads(
        subprocess.run(
            ["meson", "introspect", "--tests", BUILD], check=True, stdout=subprocess.PIPE
        ).stdout
    )
    tests = [
        Test(t)
        for t in listed
        if re.fullmatch("(.*/)?tests/test_.*", t["cmd"][-1])
        and not t["name"].endswith("-on-old-kernel")
        or not unit_only
        and t["name"] in ("golden", *(name for names in COMMANDS.values() for name in names))
    ]
    print(f"building {len(tests)} tests in {BUILD}", flush=True)
    if not built("all"):
        sys.exit(f"ninja -C {BUILD} fails without any change")
    return sorted((t for t in tests if t.measure()), key=lambda t: (t.slow, t.seconds))


def object_of(file):
    return BUILD / "libheshare.a.p" / (file.replace("/", "_") + ".o")


def code_of(file):
    """What the compiler made of it, but for what debuggers read."""
    plain = FOLDER / "plain.o"
    subprocess.run(["objcopy", "--strip-debug", object_of(file), plain], check=True)
    return plain.read_bytes()


def judge(m, tests):
    """@return the name of the test that noticed; "" none did; None: no mutant, since nothing changed or it does not compile"""
    path, target = TREE / m.file, str(object_of(m.file).relative_to(BUILD))
    text = path.read_text()
    defined = subprocess.run(
        ["nm", "--defined-only", "-g", object_of(m.file)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    symbols = {line.split()[-1] for line in defined.stdout.splitlines()}
    before = code_of(m.file)
    try:
        path.write_text(text[: m.start] + m.new + text[m.start + len(m.old) :])
        if not built(target) or code_of(m.file) == before:
            return None
        return next((t.name for t in tests if t.concerns(m, symbols) and t.notices()), "")
    finally:
        path.write_text(text)
        built(target)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--list")
    parser.add_argument("--unit", action="store_true")
    parser.add_argument("--most", type=int)
    o = parser.parse_args()
    if os.getpid() != 1:
        if subprocess.run([*ISOLATE, "true"], check=False).returncode:
            sys.exit(
                f"tests of mutants may kill anything: as root, so that this works: {' '.join(ISOLATE)}"
            )
        os.execvp(ISOLATE[0], [*ISOLATE, sys.executable, *sys.argv])
    copy_tree()
    tests = all_tests(o.unit)
    tried, survivors, by = 0, [], collections.Counter()
    for m in listed(o.list) if o.list else drawn(o.seed):
        noticed = judge(m, tests)
        if noticed is None and o.list:
            sys.exit(f"{m.file}:{m.line}: \"{m.after}\" does not compile, or changes nothing")
        if noticed is None:
            continue
        tried += 1
        by[noticed] += 1
        print(
            f"{tried:3} {'killed by ' + noticed if noticed else 'SURVIVES'}: {m.file}:{m.line}: {m.before}  =>  {m.after}",
            flush=True,
        )
        if not noticed:
            survivors.append(m)
        if not o.list and tried == o.count:
            break
    print(f"\n{len(survivors)} of {tried} survive")
    for m in survivors:
        print(f"{m.file}:{m.line}: {m.area}, {m.kind}\n\t{m.before}\n\t{m.after}")
    print(
        json.dumps(
            {
                "seed": None if o.list else o.seed,
                "mutants": tried,
                "survived": len(survivors),
                "survivors": [f"{m.file}:{m.line}" for m in survivors],
                "killed_by": {k: n for k, n in by.items() if k},
            }
        )
    )
    most = o.most if o.most is not None else 0 if o.list else 3
    sys.exit(len(survivors) > most)


if __name__ == "__main__":
    main()
