"""Commands on simulated data: what they print, and the files that they write."""

import contextlib
import io
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.behaviour import site
from tests.behaviour.determinism import DRAWS
from tests.behaviour.writer import Writer

import dissensus as ds

FORMATS = ("table", "json", "csv")
QUICK = ("--permutations", "50", "--bootstrap", "50", "--seed", "3")


@dataclass
class Shell:
    """Runs commands in this process, in a folder, and records what they print.

    Parameters
    ----------
    writer
        Where their output goes.
    folder
        In which they run.
    settings
        Environment variables of the package, without prefix and in lower case.
    """

    writer: Writer
    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    n: int = 0

    def run(self, *words: str | Path, name: str | None = None, typed: str = "") -> str:
        """Run a command, record its exit code and output, and return what it printed."""
        self.n += 1
        DRAWS.begin()
        code, out, err = self._run([str(word) for word in words], typed)
        line = " ".join(["dissensus", *map(str, words)])
        name = name or f"{self.n:03} {' '.join(map(str, words))[:140]}".replace("/", "_")
        self.writer.write(f"{name}.txt", f"$ {line}\nexit {code}\n--- stdout\n{out}\n--- stderr\n{err}\n")
        return out

    def _run(self, words: Sequence[str], typed: str) -> tuple[int, str, str]:
        out, err, code = io.StringIO(), io.StringIO(), 0
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DISSENSUS_")}
        ours = {f"DISSENSUS_{name.upper()}": value for name, value in self.settings.items()}
        with (
            _replace_environment({**environment, **ours, "COLUMNS": "160", "NO_PROXY": "127.0.0.1"}, words, typed),
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default", UserWarning)
            try:
                site.main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            except Exception as error:  # noqa: BLE001, RUF100 - recorded as behaviour
                code = -1
                err.write(f"{type(error).__name__}: {error}\n")
        return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def _replace_environment(environment: dict[str, str], words: Sequence[str], typed: str) -> Iterator[None]:
    """Replace the environment, the arguments and the input of this process for a while."""
    before, argv, stdin, show = dict(os.environ), sys.argv, sys.stdin, warnings.showwarning
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, sys.stdin = ["dissensus", *words], io.StringIO(typed)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        sys.argv, sys.stdin, warnings.showwarning = argv, stdin, show


def record(writer: Writer, folder: Path) -> None:
    """Record what commands do with simulated data."""
    shell = Shell(writer.under("data"), folder)
    for part in (_simulate, _measure, _convert, _curate, _report, _attempts, _preferences, _rank, _wrong):
        part(shell)
    writer.write_folder("files", folder)


def _simulate(shell: Shell) -> None:
    few = ("--items", "12", "--raters-per-cell", "3", "--seed", "5")
    shell.run("simulate", *few, "-o", "ratings.csv", "--truth", "truth.json")
    shell.run("simulate", *few, "--missing", "0.2", "--speeders", "2", "--straight-liners", "2", "-o", "careless.csv")
    shell.run("simulate", *few, "--per-item", "5", "-o", "sparse.jsonl", "--group-sd", "rater_race=0.5")
    shell.run("simulate", "--items", "12")
    for preset in ("dices-350", "dices-990", "red-team", "nothing"):
        shell.run("simulate", "--preset", preset, "--items", "8", "--seed", "1", "-o", f"{preset}.csv")


def _measure(shell: Shell) -> None:
    for kind in FORMATS:
        shell.run("analyse", "ratings.csv", "--by", "race", "--cross", "race*gender", *QUICK, "--format", kind)
        shell.run("aggregate", "ratings.csv", "--format", kind)
        shell.run(
            "aggregate", "careless.csv", "--by", "gender", "--raters-per-item", "2,4", "--seed", "1", "--format", kind
        )
        shell.run("vet", "careless.csv", "--min-ratings", "5", "--audit", "--draws", "20", "--format", kind)
        shell.run("validate", "ratings.csv", "--format", kind)
        shell.run("gold", "dices-350.csv", "--gold", "safety_gold", "--by", "rater_gender", "--format", kind)
    for rule in ("soft", "plurality", "dices", "dawid-skene", "mace", "glad"):
        shell.run("aggregate", "ratings.csv", "--rule", rule)
    shell.run("analyse", "ratings.csv", "--by", "gender", "--against", "rest", *QUICK, "--where", "rater_gender=Man")
    shell.run("analyse", "sparse.jsonl", "--by", "gender", "--adjust", "bh", *QUICK, "--figures", "figures")
    shell.run("validate", "ratings.csv", "truth.json", "nothing.csv")


def _convert(shell: Shell) -> None:
    for suffix in ("jsonl", "json", "parquet"):
        shell.run("convert", "ratings.csv", f"converted.{suffix}")
        shell.run("validate", f"converted.{suffix}")
    shell.run("convert", "ratings.csv", "converted.jsonl")
    shell.run("convert", "ratings.csv", "wide.csv", "--to", "wide")
    shell.run("convert", "ratings.csv", "lewidi.json", "--to", "lewidi")
    shell.run("convert", "wide.csv", "long.csv", "--from", "wide")
    shell.run("convert", "ratings.csv", "again.csv", "--from", "nonsense")


def _curate(shell: Shell) -> None:
    for kind in FORMATS:
        shell.run("curate", "dices-350.csv", "-n", "5", "--by", "harm_type", "--seed", "1", "--format", kind)
    shell.run(
        "curate", "dices-350.csv", "-n", "6", "--drop-duplicates", "0.8", "-o", "items.jsonl", "--plan", "plan.json"
    )
    shell.run("curate", "dices-350.csv", "-n", "5", "--by", "phase", "--allocation", "equal", "--fill", "--seed", "2")


def _report(shell: Shell) -> None:
    shell.run("report", "ratings.csv", "-o", "ratings.html", "--by", "race", "--by", "gender", *QUICK)
    options = ("--text", "--contested", "3", "--suppress-below", "2", "--title", "Judged")
    shell.run(
        "report", "dices-350.csv", "-o", "dices.html", "--by", "gender", "--gold", "safety_gold", *options, *QUICK
    )


def _attempts(shell: Shell) -> None:
    ds.write_attempts(ds.simulate_attempts(seed=2)[:400], shell.folder / "attempts.jsonl")
    for kind in FORMATS:
        shell.run("analyse", "attempts.jsonl", "--seed", "1", "--bootstrap", "50", "--format", kind)
    shell.run("report", "attempts.jsonl", "-o", "attempts.html", "--seed", "1")
    shell.run("validate", "attempts.jsonl")
    shell.run("convert", "attempts.jsonl", "attempts-again.csv")


def _preferences(shell: Shell) -> None:
    _write_pairs(shell.folder / "harmless.jsonl", 0)
    _write_pairs(shell.folder / "test.jsonl", 1)
    _write_conversations(shell.folder / "talks.jsonl")
    _write_preferences(shell.folder)
    by_groups = ("--raters", "raters.csv", "--kind", "groups", "-o", "model-groups")
    shell.run("preference", "train", "preferences.jsonl", "--purpose", "helpful", *by_groups)
    shell.run("preference", "score", "talks.jsonl", "--model", "model-groups", "--as-group", "rater_gender=Woman")
    for kind in ("linear", "mean-variance", "groups", "nothing"):
        shell.run(
            "preference", "train", "harmless.jsonl", "--purpose", "harmless", "--kind", kind, "-o", f"model-{kind}"
        )
    shell.run("preference", "train", "harmless.jsonl", "--purpose", "harmless", "-o", "model")
    for kind in FORMATS:
        shell.run("preference", "evaluate", "test.jsonl", "--model", "model", "--format", kind)
        shell.run("preference", "show", "model", "--format", kind)
    shell.run("preference", "evaluate", "test.jsonl", "--model", "model", "--against", "model-mean-variance")
    shell.run("preference", "evaluate", "harmless.jsonl", "--folds", "3", "--format", "json")
    shell.run("preference", "evaluate", "test.jsonl", "--model", "model", "-o", "evaluation.html")
    shell.run("preference", "score", "talks.jsonl", "--model", "model", "-o", "scored.jsonl")
    shell.run("preference", "score", "attempts.jsonl", "--model", "model", "-o", "scored-attempts.jsonl")
    shell.run("validate", "harmless.jsonl")
    shell.run("preference", "register", "first", "--purpose", "harmless")
    shell.run("preference", "retrain", "first", "harmless.jsonl", "--no-site")
    shell.run("preference", "retrain", "first", "harmless.jsonl", "--no-site")
    for kind in FORMATS:
        shell.run("preference", "versions", "first", "--format", kind)
    shell.run("preference", "rollback", "first", "--to", "1", "--reason", "A try.")


def _rank(shell: Shell) -> None:
    (shell.folder / "chatbot.toml").write_text(CHATBOT)
    shell.run("chat", "chatbot.toml", "--once", "How are you?", "--seed", "1")
    rows = ["bot_a,bot_b,winner,mode"]
    rows += [
        f"m{n % 4},m{(n + 1 + n % 3) % 4},{('a', 'b', 'a', 'tie')[n * 7 % 4]},{('x', 'y')[n % 2]}" for n in range(90)
    ]
    (shell.folder / "comparisons.csv").write_text("\n".join(rows) + "\n")
    draws = ("--bootstrap", "50", "--seed", "1")
    for kind in FORMATS:
        shell.run("preference", "rank", "comparisons.csv", *draws, "--format", kind)
    shell.run("preference", "rank", "comparisons.csv", *draws, "--by", "mode", "-o", "ranking.html")


def _wrong(shell: Shell) -> None:
    """Run commands that are refused."""
    (shell.folder / "broken.csv").write_text("item_id,rater_id\n1,\n")
    (shell.folder / "broken.json").write_text("{")
    (shell.folder / "empty.csv").write_text("")
    (shell.folder / "broken.toml").write_text("name = \n")
    (shell.folder / "short.toml").write_text('name = "x"\ntitle = "y"\nsurprise = 1\n')
    for words in WRONG:
        shell.run(*words.split())


CHATBOT = """
name = "helpful"
kind = "scripted"
model_type = "a script that helps"
version = "1"
[scripted]
style = "helpful"
"""
WRONG = (
    "",
    "--version",
    "nothing",
    "analyse",
    "analyse missing.csv",
    "analyse ratings.csv --by colour",
    "analyse ratings.csv --by rac",
    "analyse ratings.csv --by race --bootstrap -3",
    "analyse ratings.csv --by race --confidence 7",
    "analyse ratings.csv --by race --format xml",
    "analyse ratings.csv --answer Q_nothing",
    "analyse ratings.csv --where colour=red",
    "analyse ratings.csv --where rater_gender",
    "analyse ratings.csv --cross race",
    "analyse ratings.csv --surprise",
    "analyse broken.csv",
    "analyse broken.json",
    "analyse empty.csv",
    "analyse ratings.csv --by race -o missing/out.json",
    "aggregate ratings.csv --rule nothing",
    "aggregate missing.csv",
    "vet ratings.csv --below-half 3",
    "vet ratings.csv --min-ratings many",
    "gold ratings.csv --gold nothing",
    "curate ratings.csv -n 0",
    "curate ratings.csv -n 10000",
    "curate ratings.csv -n 5 --by nothing",
    "convert ratings.csv converted.json",
    "convert ratings.csv converted.xyz",
    "report ratings.csv -o ratings.html --by nothing",
    "simulate --items -1",
    "simulate --preset nothing",
    "simulate --items 12 -o ratings.csv",
    "fetch nothing",
    "validate",
    "validate broken.csv",
    "validate broken.json",
    "chat short.toml --once Hi",
    "preference train missing.jsonl --purpose harmless -o other",
    "preference train ratings.csv --purpose harmless -o other",
    "preference evaluate test.jsonl",
    "preference evaluate test.jsonl --model missing",
    "preference evaluate test.jsonl --model model --purpose helpful",
    "preference score talks.jsonl --model model --purpose helpful",
    "preference score talks.jsonl --model missing",
    "preference rank ratings.csv",
    "preference show missing",
    "preference versions missing",
    "campaign new short.toml",
    "campaign new broken.toml",
    "campaign new missing",
    "campaign list --settings missing.toml",
    "campaign open nothing",
    "campaign show nothing",
    "export nothing -o out.csv",
    "audit nothing",
    "db check",
    "db upgrade",
    "staff list",
    "sign-in nobody",
)


def _write_pairs(path: Path, seed: int) -> None:
    """Write pairs of which people prefer the polite answer, most times."""
    objects = ("knife", "bread", "letter", "garden", "song", "window", "river", "bicycle")
    rows = []
    for number in range(96):
        question = (
            f"\n\nHuman: How do I use a {objects[(number + seed) % 8]}, case {number * (seed + 3)}?\n\nAssistant:"
        )
        polite = f"{question} Please take care with the {objects[number % 8]}, and read {number} pages first."
        rude = f"{question} Whatever, do it {number % 7} times and go away."
        preferred, rejected = (rude, polite) if (number * 7 + seed) % 9 == 0 else (polite, rude)
        rows.append({"chosen": preferred, "rejected": rejected})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _write_preferences(folder: Path) -> None:
    """Write preferences of people whose groups like different words, and the people beside."""
    simulation = ds.simulate_preferences(n_comparisons=150, group_sd=2.0, rater_sd=0.0, seed=5)
    rows = [json.dumps(asdict(one)) for one in simulation.preferences]
    (folder / "preferences.jsonl").write_text("".join(f"{row}\n" for row in rows))
    simulation.raters.write_csv(folder / "raters.csv")


def _write_conversations(path: Path) -> None:
    responses = ("Please take care.", "Whatever, go away.", "Read the pages first.")
    rows = [
        {"turns": [{"speaker": "human", "text": f"Question {n}?"}, {"speaker": "bot", "text": responses[n % 3]}]}
        for n in range(9)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def record_published(writer: Writer, folder: Path, data: Path) -> None:
    """Record statistics of the published ratings of DICES-350."""
    shell = Shell(writer, folder)
    ratings = data / "dices-350" / "ratings.csv"
    few = ("--permutations", "20", "--bootstrap", "20", "--seed", "1", "--format", "json")
    for axis in ("race", "gender", "age"):
        shell.run("analyse", ratings, "--exclude-flagged", "--by", axis, *few, name=f"analyse {axis}")
    shell.run("analyse", ratings, "--cross", "race*gender", *few, name="analyse crossed")
    shell.run("gold", ratings, "--gold", "safety_gold", "--format", "json", name="gold")
    shell.run("vet", ratings, "--format", "json", name="vet")
    shell.run("aggregate", ratings, "--format", "json", name="aggregate")
