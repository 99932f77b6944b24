"""Comparison of recordings: differences, and renames that are listed."""

from pathlib import Path

import pytest
from tests.behaviour.compare import Rename, differences, main
from tests.behaviour.determinism import Draws, Normaliser
from tests.behaviour.forms import form_to


@pytest.fixture
def recordings(tmp_path: Path) -> tuple[Path, Path]:
    for name, text in (("old", "rater_kind: 1\nkind: 2\n"), ("new", "rater_sort: 1\nkind: 2\n")):
        (tmp_path / name / "part").mkdir(parents=True)
        (tmp_path / name / "part" / "a.txt").write_text(text)
        (tmp_path / name / "same.txt").write_text("rater_kind and all the same\n" if name == "old" else "the same\n")
    (tmp_path / "old" / "same.txt").write_text("the same\n")
    return tmp_path / "old", tmp_path / "new"


def test_a_changed_line_is_reported(recordings: tuple[Path, Path]) -> None:
    (difference,) = differences(*recordings)
    assert difference.path == "part/a.txt"
    assert {"-rater_kind: 1", "+rater_sort: 1"} <= set(difference.lines)


def test_a_listed_rename_is_no_difference(recordings: tuple[Path, Path]) -> None:
    assert list(differences(*recordings, [Rename("rater_kind", "rater_sort", files="part/*")])) == []
    assert len(list(differences(*recordings, [Rename("rater_kind", "rater_sort", files="other/*")]))) == 1
    # A part of a word is not renamed.
    assert len(list(differences(*recordings, [Rename("kind", "sort")]))) == 1


def test_paths_are_renamed_too(recordings: tuple[Path, Path]) -> None:
    old, new = recordings
    (new / "part").rename(new / "piece")
    renames = [Rename("part", "piece"), Rename("rater_(kind)", "rater_sort", regex=True)]
    assert list(differences(old, new, renames)) == []
    assert len(list(differences(old, new))) == 2


def test_what_is_sorted_may_move_and_tables_may_be_wider(tmp_path: Path) -> None:
    texts = {"a.lines.txt": ("b\nc\n", "c\nz\n"), "a.json": ('{"b": 1, "c": 2}', '{"c": 2, "z": 1}')}
    texts["a.txt"] = ("│ b │ 1 │\n└─┘\n", "│ z    │ 1 │\n└────┘\n")
    for name, (old, new) in texts.items():
        for folder, text in (("old", old), ("new", new)):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / name).write_text(text)
    folders = tmp_path / "old", tmp_path / "new"
    assert [one.path for one in differences(*folders, [Rename("b", "z")])] == ["a.txt"]
    assert list(differences(*folders, [Rename("b", "z")], loose=True)) == []
    assert len(list(differences(*folders, loose=True))) == 3


def test_the_exit_code_is_1_for_a_difference_that_is_not_listed(
    recordings: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(path) for path in recordings]
    assert main(words) == 1
    assert "1 files differ, of 2." in capsys.readouterr().out
    (tmp_path / "renames.toml").write_text('[[rename]]\nold = "rater_kind"\nnew = "rater_sort"\n')
    assert main([*words, "--renames", str(tmp_path / "renames.toml")]) == 0


def test_random_texts_are_numbered_by_their_appearance() -> None:
    first, second = "019ca946-0018-7000-8000-000000000077", "019ca946-0018-7000-8000-000000000078"
    assert Normaliser()(f"{second} {first} {second}") == "<uuid-1> <uuid-2> <uuid-1>"
    assert Normaliser()("key=8mL_nZ_TBp5_zOID6ThUgZ1Ehy6QfZtt&") == "key=<key-1>&"
    assert Normaliser()(f"msg_{first}_1") == "msg_<uuid-1>_1"
    column = "Q2_harmful_content_overall_and_Unfair"
    assert Normaliser()(column) == column
    assert Normaliser()('{"first_ms": 12, "visible_ms": 3}') == '{"first_ms": 0, "visible_ms": 3}'


def test_draws_begin_again_for_each_part() -> None:
    draws = Draws()
    first = [draws(16), draws(10)]
    draws.begin()
    assert draws(16) not in first
    draws.restart()
    assert [draws(16), draws(10)] == first


def test_forms_are_filled_as_browsers_fill_them() -> None:
    page = """<form method="post" action="/rate/1"><input type="hidden" name="token" value="t">
    <input type="radio" name="Q" value="No"><input type="radio" name="Q" value="Yes">
    <input type="checkbox" name="purpose" value="a" required><input type="checkbox" name="purpose" value="b">
    <textarea name="why"></textarea><button name="do" value="go">Go</button></form>"""
    form = form_to(page, r"/rate/\d")
    assert form is not None
    assert form.fill() == {"token": ["t"], "why": [""]}
    values = form.fill_out({"Q": ["Perhaps", "No"]}, 1)
    assert values == {"token": ["t"], "Q": ["No"], "purpose": ["a", "b"], "why": ["Some words, 1."], "do": ["go"]}
