"""Conventions of CONTRIBUTING.md: names, headers, rooms and imports."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import Final

from tests.support.paths import ROOT

PACKAGE: Final = ROOT / "src" / "dissensus"
MAX_MODULES: Final = 25
QUESTION_WORDS: Final = re.compile(r"(What|How|Who|Whom|Whose|Where|When|Whether|Why|Which|Whoever|Whatever)\b")
HEADINGS: Final = {  # and comments
    ".py": re.compile(r"(?:^|  )#:? (.*)", re.MULTILINE),
    ".css": re.compile(r"/\*\s*(.*)"),
    ".html": re.compile(r"<(?:h[1-6]|summary|caption)\b[^>]*>(.*)"),
    ".js": re.compile(r"^\s*//\s*(.*)", re.MULTILINE),
    ".md": re.compile(r"^#+ (.*)", re.MULTILINE),
    ".toml": re.compile(r"^#\s*(.*)", re.MULTILINE),
}
# The title of the start page asks the question of the project.
QUESTION_TITLES: Final = frozenset({"How differently people judge the safety of conversational AI</h1>"})
IS_NO: Final = re.compile(r"(?<![Tt]here )\b(is|are|was|were) (no|none)\b(?! (longer|more|better|worse)\b)")
LOGGING_CALL: Final = re.compile(r"log\.(debug|info|warning|error|exception|critical)")
SECTIONS: Final = re.compile(r"^\s*(Parameters|Returns|Raises|Yields)\n\s*-{3,}$", re.MULTILINE)
NOUNS_IN_ING: Final = frozenset(
    {
        "cleaning",
        "encoding",
        "embedding",
        "labelling",
        "mapping",
        "multiple_testing",
        "resampling",
        "vetting",
        "weighting",
        "monitoring",
        "opening",
        "planning",
        "ranking",
        "rating",
        "retraining",
        "scoring",
        "quota_screening",
        "screening",
        "training",
    }
)
ADJECTIVES_IN_ED: Final = frozenset(
    {
        "completed_chats",
        "contested_items",
        "mixed",  # mixed model
        "mixed_model",
        "delimited",  # delimited text
        "paired",  # paired comparison
        "pasted",  # pasted transcripts
        "registered_model",
        "scripted",  # scripted chatbot
        "shipped",
        "shipped_files",
        "shipped_presets",
        "signed_tokens",
        "simulated_power",
        "balanced",
        "divided_items",
    }
)
PRONOUNS: Final = frozenset({"one", "found", "kept", "given", "here", "said", "told"})
# A feature has one stem in the rooms of all layers; `answer_drafts` and `care_survey` begin with theirs.
LAYERS: Final = ("schema/campaign", "campaign", "store", "api_models", "client", "workflows", "web")
WITHOUT_STEMS: Final = frozenset({"builder", "core", "middleware", "migrations", "versions"})
STEMS: Final = """
    account answer api_token assignment attempt attention_check audit backup campaign care chat completion_code
    consent conversation correction curation decision design directory draft enrolment entry erasure export flag
    gold guideline idempotency image invite_link item job judge mail member monitoring notice opening overview pair
    passkey password pay planning platinum preference quota rate_limit rater rating recruit registry rehearsal
    release repeat report retraining scor screening seat second_factor security_log session sign_in staff submission
    task webhook withdrawal working_cop
"""
TECHNICAL: Final = """
    app auth backoff check_answers client context definition error_handlers lifecycle next_step oidc_sign_in
    openapi openapi_pages pagination parser platform protocol public_events requests resource results roles
    server shipped step_json training_pairs
"""
FEATURES: Final = tuple(STEMS.split())
TECHNICAL_MODULES: Final = frozenset(TECHNICAL.split())
WINGS: Final = frozenset(FEATURES) - {"campaign", "rater", "staff"} | {"webhooks"}  # folders of one feature
PUBLIC: Final = frozenset(
    name
    for package in ("dissensus", "dissensus.preference", "dissensus.report")
    for name in import_module(package).__all__
)
WRITES: Final = re.compile(r"\.(?:writing|commit)\(")
IMPURE: Final = re.compile(
    r"\b(?:datetime\.now|date\.today|time\.\w+|utcnow|urandom|uuid\d|secrets\.\w+|random\.random)\("
    r"|\b(?:default_rng|SeedSequence|Random)\(\)"
)
PUBLIC_ROOMS: Final = ("stats", "text")


def sources(root: Path = PACKAGE) -> Iterator[Path]:
    yield from (path for path in sorted(root.rglob("*.py")) if "versions" not in path.parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def relative_path(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_rooms_hold_at_most_25_modules() -> None:
    rooms: dict[str, int] = defaultdict(int)
    for path in sources():
        rooms[relative_path(path.parent)] += path.name != "__init__.py"
    assert {room: n for room, n in rooms.items() if n > MAX_MODULES} == {}


def test_modules_are_named_by_nouns() -> None:
    names = {path.stem.lstrip("_") for path in sources()} - {"init__"}
    assert {name for name in names if name.endswith("ing")} == NOUNS_IN_ING
    assert {name for name in names if re.search(r"[^e]ed(_|$)", name)} == ADJECTIVES_IN_ED


def test_a_feature_has_one_stem_in_all_layers() -> None:
    paths = [path.relative_to(PACKAGE) for layer in LAYERS for path in (PACKAGE / layer).rglob("*.py")]
    names = {
        path.stem: path
        for path in paths
        if path.stem != "__init__" and not WITHOUT_STEMS & set(path.parts) and path.parent.name not in WINGS
    }
    assert {path for name, path in names.items() if not name.startswith(FEATURES)} == {
        names.get(name) for name in TECHNICAL_MODULES
    }


def test_public_class_names_are_unique() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(relative_path(path))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_headers_name_their_subject() -> None:
    headers = {relative_path(path): ast.get_docstring(tree_of(path)) or "" for path in sources()}
    assert [path for path, header in headers.items() if not header and not path.endswith("__main__.py")] == []
    assert [path for path, header in headers.items() if QUESTION_WORDS.match(header)] == []


def test_headings_and_comments_begin_with_no_question_word() -> None:
    questions = {
        f"{relative_path(path)}: {text}"
        for path in texts()
        for text in HEADINGS[path.suffix].findall(path.read_text("utf-8"))
        if QUESTION_WORDS.match(text) and text not in QUESTION_TITLES
    }
    assert questions == set()


def test_a_thing_is_not_another_rather_than_no_other() -> None:
    idioms = [
        f"{relative_path(path)}:{number} {line.strip()[:80]}"
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if IS_NO.search(line) and not (path.suffix == ".html" and "is none" in line)  # a test of Jinja
    ]
    assert idioms == []


def texts() -> Iterator[Path]:
    """Yield the texts of the package and of its documents."""
    yield from sources()
    yield from (path for suffix in HEADINGS.keys() - {".md", ".py"} for path in sorted(PACKAGE.rglob(f"*{suffix}")))
    yield from sorted((ROOT / "docs").rglob("*.md"))


def test_guides_name_files_that_exist() -> None:
    roots = (ROOT, ROOT / "src", PACKAGE, PACKAGE / "web")
    named = {
        path
        for guide in ("CONTRIBUTING.md", "docs/architecture.md")
        for path in re.findall(r"`([\w./]*/[\w./]*)", (ROOT / guide).read_text("utf-8"))
        if not path.startswith("/")
    }
    assert {path for path in named if not any((root / path).exists() for root in roots)} == set()


def test_pronouns_are_names_in_comprehensions_only() -> None:
    pronouns = [
        f"{relative_path(path)}:{line} {name}"
        for path in sources()
        for line, name in pronouns_in(tree_of(path), frozenset())
    ]
    assert pronouns == []


def pronouns_in(node: ast.AST, local: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of pronouns that name a variable, parameter, field or function."""
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        targets = [name for generator in node.generators for name in ast.walk(generator.target)]
        local |= {name.id for name in targets if isinstance(name, ast.Name)}
    elif isinstance(node, ast.Lambda):
        local |= {parameter.arg for parameter in node.args.args}
    for field in ("id", "arg", "name"):
        name = getattr(node, field, None)
        if isinstance(name, str) and name in PRONOUNS - local and not isinstance(node, ast.keyword | ast.alias):
            yield getattr(node, "lineno", 0), name
    for child in ast.iter_child_nodes(node):
        yield from pronouns_in(child, local)


def test_docstrings_begin_with_a_noun_phrase_or_an_imperative() -> None:
    questions = [
        f"{relative_path(path)}:{node.lineno}"
        for path in sources()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and QUESTION_WORDS.match(ast.get_docstring(node) or "")
    ]
    assert questions == []


def test_the_site_gives_errors_in_its_own_words() -> None:
    """By `site_message`, or by `error_message` within another error: the text may name options of the command line."""
    rooms = (PACKAGE / "web", PACKAGE / "workflows")
    printed = [
        f"{relative_path(path)}:{node.lineno} {ast.unparse(node)}"
        for path in sources()
        if any(room in path.parents for room in rooms)
        for handler in ast.walk(tree_of(path))
        if isinstance(handler, ast.ExceptHandler) and handler.name
        for node in ast.walk(handler)
        if isinstance(node, ast.expr) and prints_name(node, handler.name)
    ]
    assert printed == []


def prints_name(node: ast.expr, name: str) -> bool:
    if isinstance(node, ast.FormattedValue):
        return ast.unparse(node.value) == name
    return ast.unparse(node) == f"str({name})"


def test_log_messages_name_their_thing() -> None:
    """The error that is logged says what failed, rarely of which job, report or request."""
    unnamed = [
        f"{relative_path(path)}:{node.lineno} {ast.unparse(node)}"
        for path in sources()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and LOGGING_CALL.fullmatch(ast.unparse(node.func))
        if all(ast.unparse(argument) in ("error", "text") for argument in node.args[1:])
    ]
    assert unnamed == []


def test_sections_stand_on_public_names_only() -> None:
    misplaced = [
        f"{relative_path(path)}:{node.lineno} {node.name}"
        for path in sources()
        if path.relative_to(PACKAGE).parts[0] not in PUBLIC_ROOMS
        for parent, node in definitions(tree_of(path))
        if SECTIONS.search(ast.get_docstring(node) or "") and node.name not in PUBLIC and parent not in PUBLIC
    ]
    assert misplaced == []


def definitions(
    node: ast.AST, parent: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield parent, child
            yield from definitions(child, parent or child.name)
        else:
            yield from definitions(child, parent)


def imports_of(path: Path, modules: Mapping[str, Path]) -> set[str]:
    imported = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                imported.add(full if full in modules else node.module)
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return {name for name in imported if name in modules}


def test_only_workflows_open_transactions_that_write() -> None:
    writers = {path.relative_to(PACKAGE).parts[0] for path in sources() if WRITES.search(path.read_text("utf-8"))}
    # The store has the transaction itself, and the one of a migration.
    assert writers == {"store", "workflows"}
    tables = [path for path in sources(PACKAGE / "store") if path.parent.name not in WITHOUT_STEMS]
    assert [relative_path(path) for path in tables if WRITES.search(path.read_text("utf-8"))] == []


def test_pure_packages_read_no_clock_and_draw_by_a_given_seed_only() -> None:
    draws = {
        relative_path(path): IMPURE.findall(path.read_text("utf-8"))
        for package in ("stats", "text", "campaign", "pipeline")
        for path in sources(PACKAGE / package)
    }
    # The key of pseudonyms must not follow from a seed.
    assert {path for path, calls in draws.items() if calls} == {"src/dissensus/pipeline/release/pseudonyms.py"}


def test_files_do_not_import_each_other_in_circles() -> None:
    modules = {name_of(path): path for path in sources()}
    edges = {name: imports_of(path, modules) - {name} for name, path in modules.items()}
    TopologicalSorter(edges).prepare()


def test_helpers_come_from_no_test_module() -> None:
    imports = [
        f"{relative_path(path)}: {line}"
        for path in sources(ROOT / "tests")
        for line in re.findall(r"^\s*(from tests\..* import (?:\([^)]*\)|.*))", path.read_text("utf-8"), re.MULTILINE)
        if "test_" in line
    ]
    assert imports == []
