"""
What to measure, the most valuable first. Pure: from options to a list of points with times; no device.

The order is breadth before depth, so that a run cut short still says something of everything.
"""

IMAGES = [
    "resnet50",
    "vgg19",
    "mobilenetv2",
    "densenet121",
    "resnet152",
    "resnet18",
    "vgg16",
    "mobilenet",
    "resnet34",
    "resnet101",
    "densenet161",
    "densenet201",
]
LANGUAGE = ["bert-large", "gpt2", "transformer"]
NETWORKS = IMAGES[:3] + ["bert-large", "gpt2"] + IMAGES[3:5] + ["transformer"] + IMAGES[5:]
FEW = 8  # the first ones stand for the others where all would take too long
BATCHES = [8, 1, 32]
SHARES = [50, 20, 80, 10, 30, 70, 40, 60, 90]
STAGES = ["sensor", "solo", "shares", "pairs", "groups", "depth", "clocks"]
SENSOR_S = {"idle": 8.0, "context": 6.0, "load": 12.0}
CHANGE_S = 1.0  # a lane's next network


class Point:
    """One measurement. @field members  (network, batch, precision, share, slot)"""

    def __init__(self, stage, form, members, clock_mhz=None):
        self.stage = stage
        self.form = form  # "solo", "pair", "equal3", ..., "sequential2"
        self.members = members
        self.clock_mhz = clock_mhz

    def key(self):
        """What makes it the same point in another run."""
        return (self.form, self.clock_mhz, tuple(m[:4] for m in self.members))

    def places(self):
        return [(share, slot) for _, _, _, share, slot in self.members]

    def turns(self):
        """Times that it looks: members of a sequential group come one after the other."""
        return len(self.members) if self.form.startswith("sequential") else 1

    def __str__(self):
        text = " + ".join("%s:%d:%s@%d%%" % m[:4] for m in self.members)
        return "%s %s%s" % (
            self.form,
            text,
            " at %d MHz" % self.clock_mhz if self.clock_mhz else "",
        )


def half_precision(device):
    return "fp16" if device == "cuda" else "fp32"


def single_precision(network, device, capability):
    """What float32 means by the framework's defaults: convolutions use TF32 on tensor cores, matrix products do not."""
    return (
        "tf32"
        if network in IMAGES and device == "cuda" and capability and capability[0] >= 8
        else "fp32"
    )


def solo_points(stage, networks, batches, shares, precision_of):
    return [
        Point(stage, "solo", [(n, b, precision_of(n), s, 0)])
        for b in batches
        for s in shares
        for n in networks
    ]


def couples(networks, rounds):
    """Pairs of different networks, each pair once: first those next to one another in a ring, then those two apart, and so on."""
    out = []
    for step in range(1, rounds + 1):
        for i, first in enumerate(networks):
            second = networks[(i + step) % len(networks)]
            if first != second and (first, second) not in out and (second, first) not in out:
                out.append((first, second))
    return out


def pair_points(stage, pairs, batch, splits, precision_of):
    return [
        Point(
            stage,
            "pair",
            [(a, batch, precision_of(a), s, 0), (b, batch, precision_of(b), 100 - s, 1)],
        )
        for s in splits
        for a, b in pairs
    ]


def group_points(networks, rings, batch, precision_of):
    """@param rings  which networks the groups begin with, by their places in the list"""
    out = []
    for first in rings:
        ring = [networks[(first + 2 * i) % len(networks)] for i in range(4)]

        def members(n, share):
            return [(ring[i], batch, precision_of(ring[i]), share, i) for i in range(n)]

        out += [
            Point("groups", "equal3", members(3, 33)),
            Point("groups", "equal4", members(4, 25)),
            Point("groups", "unpartitioned2", members(2, 100)),
            Point("groups", "unpartitioned3", members(3, 100)),
            Point("groups", "unpartitioned4", members(4, 100)),
            Point("groups", "sequential2", members(2, 100)),
        ]
    return out


def possible(point, mechanism):
    """Two green contexts may overlap in SMs, so green splits only for one; without a mechanism nothing is split."""
    split = any(share != 100 for share, _ in point.places())
    return not split or mechanism == "mps" or (mechanism == "green" and len(point.members) == 1)


def plan(
    networks,
    device="cuda",
    capability=None,
    mechanism="mps",
    stages=None,
    clocks_mhz=(),
    shares=tuple(SHARES),
):
    """All points in the order of their worth."""
    chosen = [n for n in NETWORKS if n in networks]
    few = chosen[:FEW]
    rings = list(range(min(4, len(few))))
    half = lambda _: half_precision(device)
    single = lambda n: single_precision(n, device, capability)
    shares = sorted(shares, key=lambda s: (SHARES.index(s) if s in SHARES else len(SHARES), s))
    near, batch = couples(few, 1), BATCHES[0]
    points = solo_points("solo", chosen, BATCHES, [100], half)
    points += pair_points("pairs", near, batch, shares[:1], half)
    points += solo_points("shares", few, [batch], shares[:3], half)
    points += group_points(few, rings[:1], batch, half)
    points += pair_points("pairs", near, batch, shares[1:3], half)
    points += solo_points("shares", few, [batch], shares[3:], half)
    points += pair_points("pairs", near, batch, shares[3:], half)
    points += group_points(few, rings[1:], batch, half)
    points += solo_points("depth", few, BATCHES[1:], shares, half)
    if device == "cuda":
        points += solo_points("depth", chosen, BATCHES, [100], single)
    points += pair_points("depth", couples(few, 3)[len(few) :], batch, shares[:3], half)
    points += pair_points("depth", near, BATCHES[2], shares[:3], half)
    points += solo_points("depth", chosen[FEW:], [batch], shares, half)
    for clock in clocks_mhz:
        points += [Point("clocks", "solo", [(n, batch, half(n), 100, 0)], clock) for n in few]
    first = {}
    for p in points:
        if possible(p, mechanism) and (stages is None or p.stage in stages):
            first.setdefault(p.key(), p)
    return list(first.values())


def fits(now_s, end_s, need_s):
    return now_s + need_s <= end_s


def seconds(point, manner):
    """What a point usually takes."""
    return point.turns() * manner.seconds() + CHANGE_S * len(point.members)


def worst_seconds(point, manner):
    """What a point takes that never gets steady."""
    return seconds(point, manner) + point.turns() * (manner.most - manner.least) * manner.window_s
