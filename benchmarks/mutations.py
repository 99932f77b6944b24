"""Measure the mutation score of the core: seeded faults, and the share of them that quick tests detect.

    make mutations ARGS="--seed 1 --sample 76"    # mutations of each part; writes docs/generated/mutations.md

The quick tests run first, and which of them execute a line is recorded. Records and results lie in artefacts/mutations:
a run that was interrupted continues where it stopped; remove the folder to begin anew.

A mutation changes one operator, condition, number, element, return value or statement in a copy of the project. Up to
200 tests that execute its line run until one fails. Docstrings, annotations, decorators and messages stay as they
are. Tests that fail without it do not count. A mutation without effect ("equivalent") counts as undetected, so a
score of 100 % cannot be reached.
"""

import argparse
import ast
import json
import math
import multiprocessing
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue

import pytest
from coverage import CoverageData

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "generated" / "mutations.md"
FOLDER = ROOT / "artefacts" / "mutations"
RECORD = FOLDER / "coverage"
PARTS = {
    "stats": "src/dissensus/stats",
    "campaign": "src/dissensus/campaign",
    "store": "src/dissensus/store",
    "permissions": "src/dissensus/web/core/permissions.py",
}
LEFT_OUT = "migrations"
COMPILED = ("@compiled", "@intrinsic")
# Tests of a first attempt, and up to which others follow if they all pass.
MOST_TESTS = (10, 50, 200)
# A run that takes as many times as long as without the mutation is detected: a loop without an end.
SLOWER, SECONDS = 5, 60
SECONDS_PER_TEST, SECONDS_FOR_KERNELS = 2, 300
OPTIONS = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "-p", "no:cov"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
# Libraries are imported once, by the process that forks into runs of tests.
FORKS = multiprocessing.get_context("forkserver")
LIBRARIES = ["alembic", "fastapi", "httpx", "hypothesis.strategies", "numba", "polars", "pydantic", "pytest"]
LIBRARIES += ["schemathesis", "scipy.optimize", "scipy.stats", "sqlalchemy", "vl_convert"]
FORKS.set_forkserver_preload(LIBRARIES)
LAST_LINE = sys.maxsize
# Definitions that are followed to the lines that name them.
MOST_DEFINITIONS = 40
COPIED = ("src", "tests", "benchmarks", "docs", "examples", "deploy", "reproduce", ".ci")

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitXor: ast.BitOr,
    ast.MatMult: ast.Add,
}


@dataclass(frozen=True)
class Mutation:
    """One change of the text of a module: a node at bytes `begin` to `end`, in the statement at `lines`."""

    part: str
    path: str
    function: str
    lines: tuple[int, int]
    begin: int
    end: int
    old: str
    new: str

    def apply(self, text: bytes) -> bytes:
        """Return the text of the module with this change."""
        return text[: self.begin] + self.new.encode() + text[self.end :]


def mutate_operation(node: ast.AST) -> Iterator[ast.AST]:
    """Yield an operation with another operator."""
    match node:
        case ast.Compare(left, [operator, *others], comparators):
            yield ast.Compare(left, [COMPARISONS[type(operator)](), *others], comparators)
        case ast.BinOp(left, operator, right):
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.AugAssign(target, operator, value):
            yield ast.AugAssign(target, OPERATORS[type(operator)](), value)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.IfExp(test, body, otherwise):
            yield ast.IfExp(test, otherwise, body)


def mutate_value(node: ast.AST) -> Iterator[ast.AST]:
    """Yield another number or truth value, and a collection without each of its elements."""
    match node:
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Set(elements) | ast.List(elements) | ast.Tuple(elements) if len(elements) > 1:
            for position in range(len(elements)):
                rest = [*elements[:position], *elements[position + 1 :]]
                yield ast.Set(rest) if isinstance(node, ast.Set) else type(node)(rest, ast.Load())


def mutate_statement(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a statement that returns nothing, does nothing, or leaves a loop otherwise."""
    match node:
        case ast.Return(value) if value is not None and ast.unparse(value) != "None":
            yield ast.Return(ast.Constant(None))
        case ast.Raise() | ast.Expr(ast.Call() | ast.Await()):
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def children(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node whose values have an effect on results."""
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.If(ast.Name("TYPE_CHECKING")):
            return []
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
        case ast.ClassDef():
            return [*node.body]
        case ast.Assign([ast.Name("__all__")]):
            return []
        case ast.AnnAssign():
            return [] if node.value is None else [node.value]
        case ast.Subscript(value, ast.Tuple(dimensions)):
            return [value, *dimensions]
    return [*ast.iter_child_nodes(node)]


class Mutator(ast.NodeVisitor):
    """Collects the mutations of a module."""

    def __init__(self, part: str, path: str, text: bytes) -> None:
        """Note the starts of lines."""
        self.part, self.path, self.text = part, path, text
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.function, self.lines = "", (1, 1)
        self.mutations: list[Mutation] = []

    def visit(self, node: ast.AST) -> None:
        """Mutate a node, then those below it."""
        if isinstance(node, ast.stmt):
            if node.col_offset == 0:
                self.function = node.name if isinstance(node, ast.FunctionDef) else ""
            # Of a compound statement, the lines of its header.
            inner = getattr(node, "body", None)
            last = inner[0].lineno - 1 if isinstance(inner, list) else node.end_lineno
            self.lines = (node.lineno, max(node.lineno, last or node.lineno))
        if isinstance(node, ast.expr | ast.stmt) and not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            self.collect(node)
        for child in children(node):
            self.visit(child)

    def collect(self, node: ast.expr | ast.stmt) -> None:
        """Add the changed forms of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        old = self.text[begin:end].decode()
        for changed in (*mutate_operation(node), *mutate_value(node), *mutate_statement(node)):
            new = ast.unparse(ast.fix_missing_locations(changed))
            if isinstance(node, ast.expr):
                new = f"({new})"
            self.mutations.append(Mutation(self.part, self.path, self.function, self.lines, begin, end, old, new))


def find_mutations(part: str) -> list[Mutation]:
    """Return all mutations of a part of the package."""
    folder = ROOT / PARTS[part]
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]
    mutations = []
    for path in paths:
        if LEFT_OUT in path.parts:
            continue
        text = path.read_bytes()
        mutator = Mutator(part, str(path.relative_to(ROOT)), text)
        mutator.visit(ast.parse(text))
        mutations += mutator.mutations
    return mutations


def record_coverage() -> None:
    """Run the quick tests, and record which of them execute a line."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    # Records named coverage.* in this folder are erased at the start.
    settings = FOLDER / "settings.ini"
    settings.write_text(
        f"[run]\nbranch = true\nparallel = true\nsource = dissensus\npatch = subprocess\ndata_file = {RECORD}\n"
        "disable_warnings = no-data-collected,module-not-measured,module-not-imported\n"
    )
    options = ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "3", *options],
        cwd=ROOT,
        env=os.environ | {"COVERAGE_RCFILE": str(settings)},
        check=False,
    )


class LineTests:
    """Tests by the lines that they execute."""

    def __init__(self, path: Path) -> None:
        """Read the record of coverage."""
        self.record = CoverageData(str(path))
        self.record.read()
        self.by_line: dict[str, dict[int, list[str]]] = {}
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute(
                "SELECT context, count(*) FROM arc JOIN context ON context.id = context_id GROUP BY context"
            )
            self.breadth = dict(rows.fetchall())
        self.prefix = next(name for name in self.record.measured_files() if name.endswith("/src/dissensus/__init__.py"))
        self.prefix = self.prefix.removesuffix("src/dissensus/__init__.py")

    def find(self, mutation: Mutation) -> list[str]:
        """Return the tests of a line, the best first.

        If it is compiled or executed on import alone: the files of tests with the name of its module, and the tests of
        lines that name its function, class or constant, else those of its module or folder.

        First come those of the file that mirrors the module, then the narrowest of each file, and so on.
        """
        mirror = f"test_{Path(mutation.path).stem}"
        files = list[str]()
        contexts = self.contexts_of(mutation.path, *mutation.lines)
        if not contexts:
            files = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob(f"{mirror}.py"))]
            contexts = self.contexts_of_users(mutation)
        contexts = contexts or self.contexts_of(mutation.path, 1, LAST_LINE) or self.contexts_of_folder(mutation.path)
        tests: dict[str, int] = {}
        for context in sorted(contexts, key=lambda context: (self.breadth[context], context)):
            tests.setdefault(context.rpartition("|")[0], self.breadth[context])
        of_file: Counter[str] = Counter()
        ranks: list[tuple[bool, int, int, str]] = []
        for test in tests:
            file = test.partition("::")[0]
            ranks.append((mirror not in file, of_file[file], len(ranks), test))
            of_file[file] += 1
        return [*files, *(test for *_, test in sorted(ranks))]

    def contexts_of(self, path: str, first: int, last: int) -> set[str]:
        """Return the tests that execute one of the lines from first to last."""
        if path not in self.by_line:
            self.by_line[path] = self.record.contexts_by_lineno(self.prefix + path)
        by_line = self.by_line[path]
        return {context for line, names in by_line.items() if first <= line <= last for context in names} - {""}

    def contexts_of_folder(self, path: str) -> set[str]:
        """Return the tests that execute a line of the folder of a module."""
        modules = sorted((ROOT / path).parent.glob("*.py"))
        return set[str]().union(*(self.contexts_of(str(m.relative_to(ROOT)), 1, LAST_LINE) for m in modules))

    def contexts_of_users(self, mutation: Mutation) -> set[str]:
        """Return the tests that execute a line which names what a line defines, or what is defined by it."""
        contexts, followed = set[str](), [find_definition(mutation)]
        # Each is followed once, while the list grows.
        for used in followed:
            for user in top_level_definitions():
                if user in followed or not used.is_named_by(user):
                    continue
                lines = [
                    line for line, text in enumerate(user.text.splitlines(), user.first) if used.pattern.search(text)
                ]
                found = set[str]().union(*(self.contexts_of(user.path, line, line) for line in lines))
                contexts |= found
                # It is executed on import alone, or compiled.
                if not found and len(followed) < MOST_DEFINITIONS:
                    followed.append(user)
        return contexts


@dataclass(frozen=True)
class Definition:
    """A function, class or assignment of a module."""

    path: str
    first: int  # line
    text: str
    names: tuple[str, ...]
    imports: frozenset[str]  # names that its module imports

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Pattern of its names, which matches nothing if it has none."""
        return re.compile(rf"\b({'|'.join(self.names)})\b" if self.names else "(?!)")

    def is_named_by(self, user: "Definition") -> bool:
        """Return whether another definition names it."""
        return (
            user.path == self.path or not user.imports.isdisjoint({*self.names, Path(self.path).stem})
        ) and self.pattern.search(user.text) is not None


def find_definition(mutation: Mutation) -> Definition:
    """Return the definition with a mutation."""
    definitions = [one for one in top_level_definitions() if one.path == mutation.path]
    return max((one for one in definitions if one.first <= mutation.lines[0]), key=lambda one: one.first)


@cache
def top_level_definitions() -> tuple[Definition, ...]:
    """Return what the modules of the package define."""
    definitions = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text()
        lines, tree = text.splitlines(), ast.parse(text)
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        imports = frozenset(alias.name for node in nodes for alias in node.names)
        for node in tree.body:
            match node:
                case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                    names = [name]
                case ast.Assign(targets):
                    names = [target.id for target in targets if isinstance(target, ast.Name)]
                case ast.AnnAssign(ast.Name(name)):
                    names = [name]
                case _:
                    names = []
            first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
            body = "\n".join(lines[first - 1 : node.end_lineno])
            definitions.append(Definition(str(path.relative_to(ROOT)), first, body, tuple(names), imports))
    return tuple(definitions)


def run_pytest(root: Path, tests: list[str], output: Path) -> None:
    """Run tests in a copy of the project, in the process group of this process."""
    os.setpgrp()
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(root)
    os.environ |= {"PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, str(root / "src"))
    os._exit(pytest.main([*OPTIONS, *tests]))


def run_tests(root: Path, tests: list[str], seconds: float = math.inf) -> str | None:
    """Return the first of these tests that fails in a copy of the project; empty if none does, None after a time."""
    with tempfile.NamedTemporaryFile() as output:
        process = FORKS.Process(target=run_pytest, args=(root, tests, Path(output.name)))
        process.start()
        process.join(None if seconds == math.inf else seconds)
        if process.exitcode is None:
            assert process.pid is not None
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
            return None
        if process.exitcode == 0:
            return ""
        lines = Path(output.name).read_text(errors="replace").splitlines()
    failures = [line.partition(" ")[2] for line in lines if line.startswith("FAILED ")]
    # A module that cannot be imported fails all tests.
    return next((test for test in tests if failures and failures[0].startswith(test)), tests[0])


@cache
def kernel_modules(path: str) -> list[str]:
    """Return the module at a path and those that import it, among the modules with compiled functions."""
    modules = {one.path for one in top_level_definitions() if one.text.startswith(COMPILED)}
    stale = modules & {path}
    while True:
        names = [re.escape(module.removeprefix("src/").removesuffix(".py").replace("/", ".")) for module in stale]
        imports = re.compile(rf"^from ({'|'.join(names)}) import", re.MULTILINE)
        found = stale | {module for module in modules if imports.search((ROOT / module).read_text())}
        if found == stale:
            return sorted(stale)
        stale = found


def restore_kernels(root: Path, modules: list[str]) -> None:
    """Copy the compiled kernels of modules to a copy of the project."""
    remove_kernels(root, modules)
    for module in modules:
        for kernel in find_kernels(ROOT / module):
            shutil.copy2(kernel, root / kernel.relative_to(ROOT))


def remove_kernels(root: Path, modules: list[str]) -> None:
    """Remove the compiled kernels of modules from a copy of the project."""
    for module in modules:
        for kernel in find_kernels(root / module):
            kernel.unlink()


def find_kernels(module: Path) -> list[Path]:
    """Return the files of the compiled kernels of a module."""
    return [*(module.parent / "__pycache__").glob(f"{module.stem}.*.nb[ci]")]


def copy_project(root: Path) -> None:
    """Copy what the tests read."""
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=shutil.ignore_patterns("_build", "artefacts"))
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy2(path, root)


def try_mutation(root: Path, mutation: Mutation, tests: list[str], sound: dict[str, bool]) -> dict[str, object]:
    """Return what the tests of a mutation say in a copy of the project."""
    result: dict[str, object] = asdict(mutation) | {"tests": len(tests)}
    outcome = "not executed"
    for begin, end in pairwise((0, *MOST_TESTS)):
        chosen = tests[begin:end]
        while chosen:
            failure = run_mutated(root, mutation, chosen)
            if failure is None:
                return result | {"outcome": "detected", "by": "time"}
            if not failure:
                outcome = "undetected"
                break
            if failure not in sound:
                sound[failure] = run_tests(root, [failure]) == ""
            if sound[failure]:
                return result | {"outcome": "detected", "by": failure}
            chosen = [test for test in chosen if test != failure]
    return result | {"outcome": outcome, "by": ""}


def run_mutated(root: Path, mutation: Mutation, tests: list[str]) -> str | None:
    """Return the first of these tests that fails with a mutation; empty if none does, None if they take too long."""
    kernels = kernel_modules(mutation.path)
    seconds: float = SECONDS + SECONDS_PER_TEST * len(tests) + (SECONDS_FOR_KERNELS if kernels else 0)
    with mutated(root, mutation, kernels):
        failure = run_tests(root, tests, seconds)
    if failure is not None:
        return failure
    # The machine may be busy, or the tests slow.
    start = time.monotonic()
    run_tests(root, tests)
    seconds = max(seconds, SLOWER * (time.monotonic() - start))
    with mutated(root, mutation, kernels):
        return run_tests(root, tests, seconds)


@contextmanager
def mutated(root: Path, mutation: Mutation, kernels: list[str]) -> Iterator[None]:
    """Apply a mutation to a copy of the project for a while, without the kernels of modules that it changes."""
    path = root / mutation.path
    text, status = path.read_bytes(), path.stat()
    try:
        path.write_bytes(mutation.apply(text))
        remove_kernels(root, kernels)
        yield
    finally:
        path.write_bytes(text)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        restore_kernels(root, kernels)


def run(seed: int, sample: int, jobs: int) -> None:
    """Try a seeded sample of mutations of each part, and write the page."""
    draw = random.Random(seed)
    chosen: list[Mutation] = []
    sizes = {}
    for part in PARTS:
        mutations = find_mutations(part)
        sizes[part] = len(mutations)
        chosen += draw.sample(mutations, min(sample, len(mutations)))
    draw.shuffle(chosen)
    line_tests = LineTests(RECORD)
    path = FOLDER / f"results-{seed}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    tried = {(row["path"], row["begin"], row["end"], row["new"]) for row in rows}
    rest = [one for one in chosen if (one.path, one.begin, one.end, one.new) not in tried]
    with tempfile.TemporaryDirectory() as folder, path.open("a") as results:
        roots: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            root = Path(folder, str(job))
            root.mkdir()
            copy_project(root)
            roots.put(root)

        def attempt(mutation: Mutation) -> dict[str, object]:
            root = roots.get()
            try:
                return try_mutation(root, mutation, line_tests.find(mutation), sound)
            finally:
                roots.put(root)

        sound: dict[str, bool] = {}
        with ThreadPoolExecutor(jobs) as pool:
            for future in as_completed([pool.submit(attempt, mutation) for mutation in rest]):
                row = future.result()
                print(json.dumps(row), file=results, flush=True)
                rows.append(row)
    write_page(rows, sizes, seed)


def write_page(rows: list[dict[str, object]], sizes: dict[str, int], seed: int) -> None:
    """Write the mutation score of each part."""
    lines = [
        "% Made by `benchmarks/mutations.py`; do not edit.\n",
        "| Part | Mutations | Tried | Detected | Undetected | Not executed | Score |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for part, size in sizes.items():
        outcomes = [str(row["outcome"]) for row in rows if row["part"] == part]
        counts = [outcomes.count(name) for name in ("detected", "undetected", "not executed")]
        score = 100 * counts[0] / len(outcomes)
        lines.append(f"| `{part}` | {size:,} | {len(outcomes)} | {' | '.join(map(str, counts))} | {score:.0f} % |")
    lines += [
        "",
        f"Seed {seed}. Scores are lower bounds: some mutations have no effect, and at most {MOST_TESTS[-1]} tests run.",
    ]
    PAGE.write_text("\n".join(lines) + "\n")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=76)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if not RECORD.exists():
        record_coverage()
    run(arguments.seed, arguments.sample, arguments.jobs)


if __name__ == "__main__":
    main()
