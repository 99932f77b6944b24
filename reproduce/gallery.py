"""The gallery of figures and the report of DICES-350: docs/_static/gallery, docs/generated/gallery and a page.

    OPENBLAS_NUM_THREADS=1 DISSENSUS_DATA=FOLDER python reproduce/gallery.py

Each page of docs/gallery shows the code of its figure, and the first page what all of them start from. This runs that
code, so that a page shows what its code makes. Nothing of a conversation is written.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dissensus.report.figure import Figure
from dissensus.report.graphics.theme import COLUMN_WIDTH, DARK, FONT, NAMES, TEXT_WIDTH

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = DOCS / "gallery"
PICTURES, GENERATED = DOCS / "_static" / "gallery", DOCS / "generated" / "gallery"
REPORT = DOCS / "_static" / "dices-350.html"
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def files() -> dict[Path, str]:
    """Return the content of each file."""
    start = _run(PAGES / "index.md", {})
    contents = {REPORT: start["report"].to_html() + "\n"}
    for page in sorted(PAGES.glob("*.md")):
        if page.stem != "index":
            contents |= describe_files(_run(page, start)["figure"], page.stem)
    return contents


def describe_files(figure: Figure, name: str) -> dict[Path, str]:
    """Return the two pictures of a figure, and the lines that its page includes."""
    return {
        PICTURES / f"{name}.svg": picture(figure, TEXT_WIDTH),
        PICTURES / f"{name}-narrow.svg": picture(figure, COLUMN_WIDTH),
        GENERATED / f"{name}.md": "\n".join(lines(figure, name)) + "\n",
    }


def picture(figure: Figure, width: int) -> str:
    """Return a figure as an SVG file that is light or dark as its reader likes pages to be."""
    light = "".join(f"--{name}:{color};" for color, name in NAMES.items())
    dark = "".join(f"--{name}:{DARK[color]};" for color, name in NAMES.items())
    style = (
        f"<style>:root{{{light}background:var(--paper)}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"text{{font-family:{FONT}}}</style>"
    )
    head, body = figure.inline(width).split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg">{style}{body}\n'


def lines(figure: Figure, name: str) -> Iterator[str]:
    """Yield title and reading of a figure, its pictures for wide and for narrow pages, and its notes."""
    yield "% Made by `reproduce/gallery.py`; do not edit.\n"
    yield f"**{_escape(figure.title)}.** {_escape(figure.reading)}\n"
    alt = _escape(figure.title)
    yield f"![{alt}](../_static/gallery/{name}.svg){{.wide}}"
    yield f"![{alt}](../_static/gallery/{name}-narrow.svg){{.narrow}}\n"
    yield from (f"- {_escape(note)}" for note in figure.notes)


def _escape(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>{}$|])", r"\\\1", text)


def _run(page: Path, names: dict[str, Any]) -> dict[str, Any]:
    """Run the code of a page with these names; return them and its own."""
    namespace = dict(names)
    for code in CODE.findall(page.read_text(encoding="utf-8")):
        exec(compile(code, page.name, "exec"), namespace)
    return namespace


if __name__ == "__main__":
    gallery = files()
    for path, text in gallery.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in {*PICTURES.iterdir(), *GENERATED.iterdir()} - {*gallery}:
        path.unlink()
    print(f"Wrote {len(gallery)} files in {DOCS}.")
