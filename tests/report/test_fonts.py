"""Fonts of figures: the same drawing whether the system has fonts or not."""

import json
import os
import subprocess
import sys

import pytest

from dissensus.report.graphics.fonts import CONFIGURATION, NO_FONTS
from dissensus.report.graphics.theme import apply_theme
from dissensus.report.graphics.vega_lite import Chart, X, Y

DRAW = """
import json, os, sys
from dissensus.report.graphics.render import load_renderer
before = dict(os.environ)
print(load_renderer().vegalite_to_svg(json.load(sys.stdin)))
assert dict(os.environ) == before
"""
NAMES = ("Plain names, 1.5 % – 2 %", "Ünïcödé", "Ελληνικά", "Кириллица", "עברית")


@pytest.mark.slow
def test_fonts_of_the_system_do_not_change_a_drawing() -> None:
    rows = [{"name": name, "n": n} for n, name in enumerate(NAMES)]
    spec = apply_theme(Chart(rows).mark("bar").encode(Y("name:N"), X("n:Q")))
    usual = {name: value for name, value in os.environ.items() if name != CONFIGURATION}
    with_fonts, without_fonts = (
        subprocess.run(
            [sys.executable, "-c", DRAW], input=json.dumps(spec), env=env, capture_output=True, text=True, check=True
        ).stdout
        for env in (usual, usual | {CONFIGURATION: str(NO_FONTS)})
    )
    assert "<text" in with_fonts
    assert with_fonts == without_fonts


LOAD_TWICE = """
import sys, threading, types
drawing, returned = threading.Event(), threading.Event()
def draw(*_, **__):
    drawing.set()
    print("early" if returned.wait(0.3) else "in turn")
renderer = types.ModuleType("vl_convert")
renderer.vegalite_to_svg, renderer.register_font_directory = draw, lambda folder: None
sys.modules["vl_convert"] = renderer
from dissensus.report.graphics.render import load_renderer
def load_second():
    drawing.wait()
    load_renderer()
    returned.set()
second = threading.Thread(target=load_second, daemon=True)
second.start()
load_renderer()
second.join()
"""


def test_a_second_thread_waits_until_the_fonts_are_loaded() -> None:
    usual = {name: value for name, value in os.environ.items() if name != CONFIGURATION}
    done = subprocess.run([sys.executable, "-c", LOAD_TWICE], env=usual, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("in turn\n", "")
