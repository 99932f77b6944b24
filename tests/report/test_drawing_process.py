"""Process that draws figures beside other work."""

import json
import subprocess
import sys

import pytest

import dissensus as ds
from dissensus.report.figure import ON_PAGE, Figure
from dissensus.report.figures.answers import answers
from dissensus.report.graphics.drawing_process import DrawingProcess, open_drawing_process


@pytest.fixture(scope="module")
def figure() -> Figure:
    return answers(ds.simulate_ratings(n_items=10, raters_per_cell=1, seed=1), "gender")


@pytest.mark.slow
def test_figures_are_those_of_this_process(figure: Figure) -> None:
    expected = [figure.inline(*size) for size in ON_PAGE]
    with open_drawing_process() as process:
        assert process is not None
        figure.begin(process)
        assert [figure.inline(*size) for size in ON_PAGE] == expected


@pytest.mark.slow
def test_a_process_that_ends_leaves_figures_to_this_one(figure: Figure) -> None:
    expected = [figure.inline(*size) for size in ON_PAGE]
    with open_drawing_process() as process:
        assert process is not None
        # A chart that the renderer refuses ends the process, and the next ones are not drawn there either.
        assert process.submit({"mark": 1}, "a", "A").result() is None
        figure.begin(process)
        assert [figure.inline(*size) for size in ON_PAGE] == expected


@pytest.mark.slow
def test_closing_cancels_figures_that_are_not_drawn(figure: Figure) -> None:
    process = DrawingProcess()
    drawings = [process.submit(figure.draw(400), "a", "A") for _ in range(20)]
    figure.begin(process)
    process.close()
    assert all(drawing.done() for drawing in drawings)
    assert drawings[-1].cancelled()
    assert figure.inline(*ON_PAGE[0]).startswith("<svg")


@pytest.mark.slow
def test_the_process_ends_with_its_input(figure: Figure) -> None:
    line = json.dumps((figure.draw(400), "a", "A"))
    command = [sys.executable, "-m", "dissensus.report.graphics.drawing_process"]
    done = subprocess.run(command, input=f"{line}\n", capture_output=True, text=True, check=True)
    (drawing,) = map(json.loads, done.stdout.splitlines())
    assert drawing.startswith("<svg")
