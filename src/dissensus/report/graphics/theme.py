"""Theme of figures: sizes, fonts, colour-blind-safe colours."""

from dissensus.report.graphics.vega_lite import SCHEMA_URL, Spec

# Widths on paper at 96 pixels per inch: full page, and one of two columns. Phones show the narrow one.
TEXT_WIDTH, COLUMN_WIDTH = 672, 317

# Each light colour and its replacement on dark pages. Blue, vermilion and orange are those of Okabe and Ito (2008),
# Color universal design, and lighter ones for the dark; the greys and the ramp are ours.
INK, MUTED, LINE, PALE, PAPER = "#1F2933", "#5B6770", "#D9DEE2", "#7B8791", "#FFFFFF"
BLUE, VERMILION, ORANGE = "#0072B2", "#D55E00", "#E69F00"
# From the first answer of a scale to the last: lighter to darker, also in grey.
RAMP = ("#DCE6EE", "#B9CFE0", "#8FB3D1", "#6698C0", "#3876A6", "#15598C", "#0A3B63")
# Text on the first steps of the ramp, on the middle one and orange, and on the last.
ON_LOW, ON_MIDDLE, ON_HIGH = "#1F2934", "#1F2935", "#FEFEFE"
DARK = {
    INK: "#E6EAED",
    MUTED: "#A7B3BD",
    LINE: "#36404A",
    PALE: "#8593A0",
    PAPER: "#14191E",
    BLUE: "#56B4E9",
    VERMILION: "#FF9457",
    ORANGE: "#E69F00",
    **dict(zip(RAMP, ("#263442", "#32485C", "#3F6484", "#5086B2", "#6BA3D0", "#96C4E8", "#C9E4F8"), strict=True)),
    ON_LOW: "#F2F5F7",
    ON_MIDDLE: "#10151A",
    ON_HIGH: "#10151A",
}
NAMES = {
    INK: "ink",
    MUTED: "muted",
    LINE: "line",
    PALE: "pale",
    PAPER: "paper",
    BLUE: "blue",
    VERMILION: "vermilion",
    ORANGE: "orange",
    **{color: f"ramp-{step}" for step, color in enumerate(RAMP, start=1)},
    ON_LOW: "on-low",
    ON_MIDDLE: "on-middle",
    ON_HIGH: "on-high",
}

# Liberation Sans comes with the renderer and has the widths of Arial, so that a figure is the same everywhere.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
SMALL, BODY = 11, 12
PADDING = 4

CONFIG: Spec = {
    "aria": False,
    "font": FONT,
    "background": PAPER,
    "padding": PADDING,
    "view": {"stroke": None},
    "concat": {"spacing": 12},
    "title": {
        "anchor": "start",
        "frame": "group",
        "font": FONT,
        "fontSize": BODY,
        "fontWeight": "bold",
        "color": INK,
        "subtitleFont": FONT,
        "subtitleFontSize": SMALL,
        "subtitleColor": MUTED,
        "offset": 8,
    },
    "axis": {
        "labelFont": FONT,
        "labelFontSize": SMALL,
        "labelColor": INK,
        "titleFont": FONT,
        "titleFontSize": SMALL,
        "titleFontWeight": "normal",
        "titleColor": MUTED,
        "domain": False,
        "ticks": False,
        "grid": True,
        "gridColor": LINE,
        "labelPadding": 6,
        # No limit: the renderer measures limited texts twice, and ticks are numbers.
        "labelLimit": 0,
    },
    "legend": {
        "labelFont": FONT,
        "labelFontSize": SMALL,
        "labelColor": INK,
        "labelLimit": 260,
        "title": None,
        "orient": "top",
        "direction": "horizontal",
        "offset": 8,
        "symbolStrokeWidth": 1.5,
    },
    "text": {"font": FONT, "fontSize": SMALL, "color": INK},
}


def apply_theme(drawing: Spec) -> Spec:
    """Return a figure with the theme, as a complete Vega-Lite specification."""
    return {"$schema": SCHEMA_URL} | drawing | {"config": CONFIG}


def pick_ramp_colors(n: int) -> list[str]:
    """Return colours for `n` ordered answers, from the lightest to the darkest; neighbours repeat beyond seven."""
    if n == 1:
        return [RAMP[3]]
    return [RAMP[round(k * (len(RAMP) - 1) / (n - 1))] for k in range(n)]


def pick_text_color(color: str) -> str:
    """Return the colour of text on a step of the ramp."""
    step = RAMP.index(color)
    return ON_LOW if step < 3 else ON_MIDDLE if step == 3 else ON_HIGH
