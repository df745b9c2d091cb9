"""Panels of lines or of rows of dots as one SVG: the measured folder's figures. Colours are those of src/report/theme.c."""
import math
from xml.sax.saxutils import escape

INK, MUTED, GRID, SURFACE, ACCENT = "#1b2530", "#5a6673", "#e2e7ec", "#ffffff", "#b3125f"
SERIES = ["#5b9bd8", "#e8954a", "#4fb38c", "#a98fdb", "#d6b53c", "#e58699", "#4db6c4", "#b0a391"]
DARK = {
    INK: "#e9eef3",
    MUTED: "#9aa8b6",
    GRID: "#2b343e",
    SURFACE: "#171c22",
    ACCENT: "#f0609f",
    SERIES[0]: "#3f7fc0",
    SERIES[1]: "#b4661e",
    SERIES[2]: "#2b8461",
    SERIES[3]: "#7a5fb6",
    SERIES[4]: "#8f7516",
    SERIES[5]: "#b04f66",
    SERIES[6]: "#23808d",
    SERIES[7]: "#786d5e",
}
WIDTH, TOP, BOTTOM, LEFT, GAP = 1040, 62, 46, 58, 14
LINE_PX = 13  # between the names at the ends of lines


def ticks(low, high, most=6):
    """Round values over a range."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    ten = 10 ** math.floor(math.log10(raw))
    step = next(ten * m for m in (1, 2, 5, 10) if ten * m >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, int(math.floor(high / step + 1e-9)) + 1)]


def decades(low, high):
    return [
        10.0**e * m
        for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for m in (1, 2, 5)
        if low * 0.999 <= 10.0**e * m <= high * 1.001
    ]


def spread(wanted, least, top, bottom):
    """Places near the wanted ones, rising, at least so far apart, within bounds as far as there is room."""
    out = []
    for y in wanted:
        out.append(max(y, out[-1] + least if out else top))
    for i in range(len(out) - 1, -1, -1):
        out[i] = min(out[i], out[i + 1] - least if i + 1 < len(out) else bottom)
    return out


class Panel:
    """@field lines  (name, [(x, y)...]); @field rows  (name, [(x, colour index)...]); one of them is used"""

    def __init__(self, title, x_label, lines=(), rows=(), log_x=False, log_y=False, marks=()):
        self.title, self.x_label = title, x_label
        self.lines = [(n, sorted(p)) for n, p in lines if p]
        self.rows = [(n, p) for n, p in rows if p]
        self.log_x, self.log_y, self.marks = (
            log_x,
            log_y,
            marks,
        )  # marks: (name, value) across the panel

    def ranges(self):
        if self.rows:
            xs = [x for _, p in self.rows for x, _ in p] + [v for _, v in self.marks]
            pad = 0.05 * (max(xs) - min(xs) or 1)
            return min(xs) - pad, max(xs) + pad, len(self.rows) - 0.5, -0.5
        xs = [x for _, p in self.lines for x, _ in p]
        ys = [y for _, p in self.lines for _, y in p] + [v for _, v in self.marks]
        if self.log_y:
            return min(xs), max(xs), min(ys) / 1.15, max(ys) * 1.15
        return min(xs), max(xs), 0, max(ys) * 1.04

    def draw(self, out, left, right, top, bottom):
        self.out, self.box = out, (left, right, top, bottom)
        self.x0, self.x1, self.y0, self.y1 = self.ranges()
        if self.x1 == self.x0:
            self.x0, self.x1 = self.x0 - 1, self.x1 + 1
        text(out, left, top - 18, self.title, INK, size=13)
        text(out, (left + right) / 2, bottom + 36, self.x_label, MUTED, anchor="middle")
        self.grid()
        if self.rows:
            self.draw_rows()
        else:
            self.draw_lines()

    def px(self, x):
        left, right, _, _ = self.box
        f = math.log if self.log_x else float
        return left + (f(x) - f(self.x0)) / (f(self.x1) - f(self.x0)) * (right - left)

    def py(self, y):
        _, _, top, bottom = self.box
        f = math.log if self.log_y else float
        return bottom - (f(y) - f(self.y0)) / (f(self.y1) - f(self.y0)) * (bottom - top)

    def grid(self):
        left, right, top, bottom = self.box
        for x in (
            sorted({x for _, p in self.lines for x, _ in p})
            if self.log_x
            else ticks(self.x0, self.x1)
        ):
            if self.rows:
                line(self.out, self.px(x), top, self.px(x), bottom, GRID)
            text(self.out, self.px(x), bottom + 16, "%g" % x, MUTED, anchor="middle")
        for y in (
            []
            if self.rows
            else decades(self.y0, self.y1)
            if self.log_y
            else ticks(self.y0, self.y1)
        ):
            line(self.out, left, self.py(y), right, self.py(y), GRID)
            text(self.out, left - 6, self.py(y) + 4, "%g" % y, MUTED, anchor="end")

    def draw_lines(self):
        left, right, top, bottom = self.box
        for name, v in self.marks:
            line(self.out, left, self.py(v), right, self.py(v), ACCENT, dash="4 4")
            text(self.out, left + 4, self.py(v) - 4, name, ACCENT, size=10.5)
        ends = sorted((self.py(p[-1][1]), i) for i, (_, p) in enumerate(self.lines))
        for place, (_, i) in zip(spread([y for y, _ in ends], LINE_PX, top, bottom), ends):
            name, points = self.lines[i]
            colour = SERIES[i % len(SERIES)]
            at = " ".join("%.1f,%.1f" % (self.px(x), self.py(y)) for x, y in points)
            self.out.append(
                '<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>' % (at, colour)
            )
            for x, y in points:
                dot(self.out, self.px(x), self.py(y), colour, "%s: %g, %.4g" % (name, x, y))
            text(self.out, right + 8, place + 4, name, INK, size=11)
            dot(self.out, right + 3, place, colour, name)

    def draw_rows(self):
        left, _, top, bottom = self.box
        for name, v in self.marks:
            line(self.out, self.px(v), top, self.px(v), bottom, ACCENT, dash="4 4")
            text(self.out, self.px(v), top - 1, name, ACCENT, size=10.5, anchor="middle")
        for i, (name, points) in enumerate(self.rows):
            y = top + (i + 0.5) / len(self.rows) * (bottom - top)
            text(self.out, left - 8, y + 4, name, INK, size=10.5, anchor="end")
            for x, k in points:
                dot(self.out, self.px(x), y, SERIES[k % len(SERIES)], "%s: %.4g" % (name, x))


def line(out, x0, y0, x1, y1, colour, dash=""):
    out.append(
        '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"%s/>'
        % (x0, y0, x1, y1, colour, ' stroke-dasharray="%s"' % dash if dash else "")
    )


def text(out, x, y, words, colour, size=12, anchor="start"):
    out.append(
        '<text x="%.1f" y="%.1f" font-size="%g" fill="%s" text-anchor="%s">%s</text>'
        % (x, y, size, colour, anchor, escape(words))
    )


def dot(out, x, y, colour, tip):
    out.append(
        '<circle cx="%.1f" cy="%.1f" r="3.2" fill="%s"><title>%s</title></circle>'
        % (x, y, colour, escape(tip))
    )


def svg(title, panels, height, left=LEFT, right=96, columns=0):
    """
    @param height   of a row of panels
    @param columns  panels in a row; 0: all of them
    @return the document; panels share the width, each with room for names at its left or right
    """
    columns = columns or len(panels)
    whole = height * -(-len(panels) // columns)
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">'
        % (WIDTH, whole, WIDTH, whole, escape(title, {'"': "&quot;"})),
        "<style>svg text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif}",
        "@media (prefers-color-scheme:dark){",
    ]
    out += [
        'svg [fill="%s"]{fill:%s}svg [stroke="%s"]{stroke:%s}' % (a, b, a, b)
        for a, b in DARK.items()
    ]
    out += ["}</style>", '<rect width="100%%" height="100%%" fill="%s"/>' % SURFACE]
    text(out, GAP, 22, title, INK, size=14)
    width = WIDTH / columns
    for i, p in enumerate(panels):
        x, y = i % columns * width, i // columns * height
        p.draw(out, x + left, x + width - right, y + TOP, y + height - BOTTOM)
    return "\n".join(out + ["</svg>", ""])
