"""`dissensus db`."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from tests.support.commands import RunCommand, command_runner

from dissensus.store.core.database import parse_url


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> RunCommand:
    return command_runner(monkeypatch, capsys, tmp_path)


def test_tables_are_created_once_and_checked(run: RunCommand, blank_url: str, tmp_path: Path) -> None:
    (tmp_path / "blank.db").touch()  # an empty file is a blank database of SQLite
    before = run("db", "check", database_url=blank_url)
    assert (before.returncode, before.stdout) == (1, "")
    assert before.stderr == "Error: The database is blank. Run: dissensus db upgrade\n"
    upgraded = run("db", "upgrade", database_url=blank_url)
    assert upgraded.returncode == 0
    assert upgraded.stdout.startswith("The database went from blank to revision 0")
    for command in ("upgrade", "check"):
        again = run("db", command, database_url=blank_url)
        assert again.returncode == 0
        # Risks of an old SQLite, or of the PostgreSQL of tests, which does not wait for the disk.
        assert all(line.startswith("Warning: ") for line in again.stderr.splitlines())
        assert again.stdout.startswith("The database is up to date, at revision 0")


def test_a_database_of_a_later_version_is_not_changed(run: RunCommand, database_url: str) -> None:
    engine = create_engine(parse_url(database_url))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    for command in ("upgrade", "check"):
        done = run("db", command, database_url=database_url)
        assert done.returncode == 1
        assert "9999, which a later version made. Upgrade Dissensus to use it." in done.stderr


def test_an_unreachable_database(run: RunCommand, tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}", f"postgresql://nobody:hunter2@localhost/x?host={tmp_path}"):
        done = run("db", "check", database_url=url)
        assert done.returncode == 1
        assert done.stderr.startswith("Error: The database does not answer: ")
        assert "hunter2" not in done.stderr
        assert "Traceback" not in done.stderr


def test_an_unsupported_database_url(run: RunCommand) -> None:
    done = run("db", "upgrade", database_url="mysql://root:hunter2@db/x")
    assert done.returncode == 1
    assert "mysql is not a database that Dissensus supports" in done.stderr
    assert "hunter2" not in done.stderr


def test_the_database_of_a_settings_file(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('database_url = "sqlite:///mine.db"')
    assert run("db", "upgrade", "--settings", "mine.toml").returncode == 0
    assert (tmp_path / "mine.db").exists()


def test_commands_create_no_database_in_a_wrong_folder(run: RunCommand, tmp_path: Path) -> None:
    for words in (("db", "check"), ("campaign", "list"), ("campaign", "open", "x"), ("sign-in", "x", "--sign-out")):
        done = run(*words, database_url="sqlite:///dissensus.db")
        assert (done.returncode, done.stdout) == (1, "")
        assert "There is no database dissensus.db. Go to its folder or name it" in done.stderr
    assert list(tmp_path.iterdir()) == []
