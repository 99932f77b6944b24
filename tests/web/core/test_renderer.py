"""Labels of the cells of tables that are cards on a phone."""

import re

from jinja2 import Environment

from dissensus.web.core.renderer import label_cells, name_axis


def labels(head: str, row: str) -> list[tuple[str, str]]:
    """The label, if any, and the text of each cell of a row."""
    table = label_cells(f"<table><thead><tr>{head}</tr></thead><tbody><tr>{row}</tr></tbody></table>")
    return re.findall(r'<td(?: colspan="\d+")?(?: data-label="([^"]*)")?>(.*?)</td>', table.partition("</thead>")[2])


def test_a_cell_over_several_columns_has_no_label_and_the_next_has_its_own() -> None:
    head = "<td></td><th>A</th><th>B</th><th>C</th>"
    row = '<th scope="row">r</th><td colspan="2">a and b</td><td>c</td>'
    assert labels(head, row) == [("", "a and b"), ("C", "c")]


def test_a_row_heading_over_all_columns_leaves_no_label() -> None:
    assert labels("<th>A</th><th>B</th>", '<th scope="rowgroup" colspan="2">Age</th>') == []


def test_a_column_without_a_heading_gives_no_label() -> None:
    head = "<th>A</th><td></td><th> </th><th>D</th>"
    row = "<td>a</td><td>b</td><td>c</td><td>d</td><td>beyond</td>"
    assert labels(head, row) == [("A", "a"), ("", "b"), ("", "c"), ("D", "d"), ("", "beyond")]


def test_a_heading_from_outside_stays_escaped() -> None:
    template = (
        "{% filter labelled %}<table><thead><tr><th><b>{{ text }}</b></th></tr></thead>"
        "<tr><td>{{ text }}</td></tr></table>{% endfilter %}"
    )
    environment = Environment(autoescape=True)
    environment.filters["labelled"] = label_cells
    page = environment.from_string(template).render(text="\"><td onclick=x> & '")
    escaped = "&#34;&gt;&lt;td onclick=x&gt; &amp; &#39;"
    assert page.endswith(f'<tr><td data-label="{escaped}">{escaped}</td></tr></table>')


def test_an_axis_keeps_its_capitals() -> None:
    assert name_axis("rater_US_state") == "US state"
    assert name_axis("rater_age_group") == "Age group"
