"""`dissensus db`: tables made, upgraded, checked."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from tests.support.commands import RunCommand, command_runner

from dissensus.store.core.database import parse_url


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> RunCommand:
    return command_runner(monkeypatch, capsys, tmp_path)


def test_tables_are_made_once_and_checked(told: RunCommand, blank_url: str, tmp_path: Path) -> None:
    (tmp_path / "blank.db").touch()  # an empty file is a blank database of SQLite
    before = told("db", "check", database_url=blank_url)
    assert (before.returncode, before.stdout) == (1, "")
    assert before.stderr == "Error: The database is blank. Run: dissensus db upgrade\n"
    made = told("db", "upgrade", database_url=blank_url)
    assert made.returncode == 0
    assert made.stdout.startswith("The database went from blank to revision 0")
    for command in ("upgrade", "check"):
        again = told("db", command, database_url=blank_url)
        assert (again.returncode, again.stderr) == (0, "")
        assert again.stdout.startswith("The database is up to date, at revision 0")


def test_a_database_of_a_later_version_is_left_alone(told: RunCommand, database_url: str) -> None:
    engine = create_engine(parse_url(database_url))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    for command in ("upgrade", "check"):
        done = told("db", command, database_url=database_url)
        assert done.returncode == 1
        assert "9999, which a later version made. Upgrade Dissensus to use it." in done.stderr


def test_a_database_that_is_away(told: RunCommand, tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}", f"postgresql://nobody:hunter2@localhost/x?host={tmp_path}"):
        done = told("db", "check", database_url=url)
        assert done.returncode == 1
        assert done.stderr.startswith("Error: The database does not answer: ")
        assert "hunter2" not in done.stderr
        assert "Traceback" not in done.stderr


def test_an_address_that_is_none(told: RunCommand) -> None:
    done = told("db", "upgrade", database_url="mysql://root:hunter2@db/x")
    assert done.returncode == 1
    assert "mysql is no database that Dissensus works on" in done.stderr
    assert "hunter2" not in done.stderr


def test_the_database_of_a_settings_file(told: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('database_url = "sqlite:///mine.db"')
    assert told("db", "upgrade", "--settings", "mine.toml").returncode == 0
    assert (tmp_path / "mine.db").exists()


def test_in_a_wrong_folder_nothing_is_found_and_nothing_left_behind(told: RunCommand, tmp_path: Path) -> None:
    for words in (("db", "check"), ("campaign", "list"), ("campaign", "open", "x"), ("sign-in", "x", "--sign-out")):
        done = told(*words, database_url="sqlite:///dissensus.db")
        assert (done.returncode, done.stdout) == (1, "")
        assert "There is no database dissensus.db. Go to its folder or name it" in done.stderr
    assert list(tmp_path.iterdir()) == []
