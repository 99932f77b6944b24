"""Real data, where available, and real databases."""

import fcntl
import gc
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from hypothesis import settings
from tests.databases import Databases, postgresql
from tests.support.prerequisites import report_missing
from tests.support.prolific_server import Prolific
from tests.support.prolific_server import serving as prolific_serving

from dissensus.files.ratings.reader import read_ratings
from dissensus.schema.ratings.table import Ratings
from dissensus.store.core import schema
from dissensus.store.core.database import Database, connect

#: Quick tests take databases of SQLite; the slow ones repeat them on PostgreSQL.
KINDS = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))
MEMORY = Path("/dev/shm")
ROOM = 2 * 2**30
# Its key does not exist any more: it signs nothing.
AUTHORITY = Path(__file__).with_name("support") / "authority.pem"


def pytest_configure(config: pytest.Config) -> None:
    """Write temporary files to memory, if it has room and TMPDIR is not set: databases wait for disks.

    No test contacts a hub of models, nor any server with a certificate of a public authority: to load those takes
    longer than a request. Workers share the processors, so linear algebra uses one thread in each.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["SSL_CERT_FILE"] = str(AUTHORITY)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # The same examples in each run, and none fails for being slow on a busy machine.
    settings.register_profile("tests", derandomize=True, deadline=None)
    settings.load_profile("tests")
    share_drawings()
    if hasattr(config, "workerinput"):
        share_kernels()
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


def share_drawings() -> None:
    """Draw each figure once per process: its SVG depends on the specification alone and takes longest in a report."""
    draw = vl_convert.vegalite_to_svg

    @lru_cache(maxsize=500)
    def draw_once(spec: str, options: str) -> str:
        return draw(json.loads(spec), **json.loads(options))

    def draw_shared(spec: dict[str, Any], **options: Any) -> str:
        return draw_once(json.dumps(spec), json.dumps(options))

    vl_convert.vegalite_to_svg = draw_shared  # type: ignore[assignment]


def share_kernels() -> None:
    """Compile each kernel in one worker: the others wait for it and load it from the cache."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    compile_kernel, lock = Dispatcher.compile, os.open(__file__, os.O_RDONLY)
    open_kernels = list[Any]()

    def compile_once(kernel: Any, signature: Any) -> Any:
        # A kernel compiles those that it calls.
        with global_compiler_lock:
            if not open_kernels:
                fcntl.flock(lock, fcntl.LOCK_EX)
            open_kernels.append(kernel)
            try:
                return compile_kernel(kernel, signature)
            finally:
                open_kernels.pop()
                if not open_kernels:
                    fcntl.flock(lock, fcntl.LOCK_UN)

    Dispatcher.compile = compile_once  # type: ignore[assignment, method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exclude collected tests and modules, which all stay, from garbage collection, and collect it less often.

    Collected as often as by default, the little garbage of a test takes 4 % of the processor time of one of the site.
    """
    gc.disable()
    gc.set_threshold(20_000, 20, 20)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Return the path of a real file; skip with a message if the data are missing."""

    def find(name: str) -> Path:
        folder = os.environ.get("DISSENSUS_DATA")
        path = Path(folder or "", name)
        if not folder or not path.exists():
            report_missing(f"REAL DATA NOT TESTED: DISSENSUS_DATA={folder or ''} has no {name}")
        return path

    return find


@pytest.fixture(scope="session")
def dices_350(real_data: Callable[[str], Path]) -> Path:
    """The real ratings of DICES-350."""
    return real_data("dices-350/ratings.csv")


@pytest.fixture(scope="session")
def dices_123(dices_350: Path) -> Ratings:
    """All 123 raters of DICES-350."""
    return read_ratings(dices_350)


@pytest.fixture(scope="session")
def dices_104(dices_123: Ratings) -> Ratings:
    """DICES-350 without the raters that its authors removed, as GRASP uses it."""
    return dices_123.exclude_flagged()


@pytest.fixture(scope="session")
def server() -> Iterator[Databases]:
    """A PostgreSQL server."""
    with postgresql() as url:
        databases = Databases(url)
        yield databases
        databases.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables."""
    path = tmp_path_factory.mktemp("template") / "template.db"
    database = connect(f"sqlite:///{path}")
    schema.upgrade(database)
    database.dispose()
    return path


@pytest.fixture(params=KINDS)
def blank_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'blank.db'}"
        return
    databases: Databases = request.getfixturevalue("server")
    url = databases.blank()
    yield url
    databases.drop(url)


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database of each kind, with all tables."""
    if request.param == "sqlite":
        path = tmp_path / "dissensus.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    databases: Databases = request.getfixturevalue("server")
    with databases.lend() as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database of each kind, with all tables."""
    opened_database = connect(database_url)
    yield opened_database
    opened_database.dispose()


@pytest.fixture(scope="session")
def prolific_server() -> Iterator[Prolific]:
    """A Prolific on loopback."""
    with prolific_serving() as state:
        yield state


@pytest.fixture
def prolific(prolific_server: Prolific, monkeypatch: pytest.MonkeyPatch) -> Prolific:
    """An empty Prolific, reached without a proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    prolific_server.forget()
    return prolific_server
