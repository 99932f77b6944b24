"""Tools under the same load: their start, the requests of a rater, and their stored annotations."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import httpx

ENVIRONMENTS = Path(__file__).resolve().parent.parent / ".peers"
N_ITEMS, N_QUESTIONS, ANSWERS = 350, 16, ("No", "Unsure", "Yes")
QUESTIONS = tuple(f"Q{number}" for number in range(N_QUESTIONS))
PASSWORD = "a secret of no consequence, for measuring alone"
Submit = Callable[[], tuple[str, int]]
"""Submits an annotation and fetches the next item; returns the id of the annotation and the bytes received."""


class Finished(Exception):
    """A rater has rated everything."""


def conversation(number: int) -> list[tuple[str, str]]:
    """Ten messages of the length of those in DICES-350."""
    words = "What people say in such a conversation is often longer than this and more heated than that. "
    return [(("human", "bot")[turn % 2], f"{number} {turn}: {words}") for turn in range(10)]


class Tool(Protocol):
    """A tool that is measured."""

    name: str

    def version(self) -> str:
        """Return the installed version."""

    def words(self, folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        """Return the command that starts it in a folder, and its environment."""

    def prepare(self, base: str, folder: Path) -> None:
        """Create the campaign on the running tool."""

    def rater(self, base: str, number: int) -> Submit:
        """Sign a rater in."""

    def stored_annotations(self, folder: Path) -> set[str]:
        """Return the ids of stored annotations, as returned by `Submit`."""


@dataclass
class Dissensus:
    """The site as `dissensus serve` starts it, on SQLite."""

    name: str = "Dissensus"
    key: str = ""

    def version(self) -> str:
        return run_program([sys.executable, "-m", "dissensus", "--version"]).split()[-1]

    def words(self, folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        settings = {"DISSENSUS_DATABASE_URL": f"sqlite:///{folder}/d.db", "DISSENSUS_PORT": str(port)}
        # Simulated raters are faster than any person, and share an address.
        settings |= {"DISSENSUS_SAVES_PER_RATER": "0", "DISSENSUS_ENTRIES_PER_ADDRESS": "0"}
        return [sys.executable, "-m", "dissensus", "serve"], settings

    def prepare(self, base: str, folder: Path) -> None:  # noqa: ARG002 - asked of all tools
        rows = [{"turns": [{"role": role, "content": text} for role, text in conversation(n)]} for n in range(N_ITEMS)]
        items = folder / "items.jsonl"
        items.write_text("\n".join(map(json.dumps, [{"item_id": f"{n}", **row} for n, row in enumerate(rows)])))
        questions = "\n".join(
            f'[[questionnaire.questions]]\nname = "{one}"\ntext = "Is it {one}?"\nscale = {list(ANSWERS)}'
            for one in QUESTIONS
        )
        (folder / "load.toml").write_text(
            'name = "load"\nlanguages = ["en"]\ntitle = "Load"\nwarning = "None."\n[consent]\ntext = "None."\n'
            '[[consent.purposes]]\nname = "rating"\ntext = "All."\nrequired = true\n'
            f'[questionnaire]\nname = "sixteen"\nlanguages = ["en"]\ntitle = "Sixteen"\n{questions}\n'
        )
        environment = {**os.environ, **self.words(folder, 0)[1]}
        run = [sys.executable, "-m", "dissensus", "campaign"]
        run_program([*run, "new", str(folder / "load.toml"), "--items", str(items), "--owner", "ada"], environment)
        self.key = run_program([*run, "open", "load"], environment).split("key=")[1].strip()

    def rater(self, base: str, number: int) -> Submit:
        browser = httpx.Client(base_url=base, timeout=60, follow_redirects=True)
        browser.post("/c/load", data={"key": self.key, "language": "en"})
        browser.post("/c/load/consent", data={"purpose": "rating"})
        browser.headers["accept"] = "application/json"
        at = browser.get("/rate").raise_for_status().json()
        state = {"token": at["form_token"], "item": at["item"]["assignment"]}

        def submit() -> tuple[str, int]:
            if state["item"] is None:
                raise Finished
            answers = {one: {"value": ANSWERS[number % 3], "first_ms": 900, "last_ms": 1900} for one in QUESTIONS}
            times = {
                "visible_ms": 2000,
                "idle_ms": 0,
                "open_ms": 1900,
                "visit": str(uuid4()),
                "revision": 1,
                "final": True,
            }
            done, body = state["item"], {"key": str(uuid4()), "answers": answers} | times
            answer = browser.post(f"/rate/{done}/save", json=body, headers={"x-form-token": state["token"]})
            state["item"] = (answer.raise_for_status().json()["item"] or {}).get("assignment")
            return done, len(answer.content)

        return submit

    def stored_annotations(self, folder: Path) -> set[str]:
        return _rows(folder / "d.db", "SELECT assignment_id FROM save WHERE final")


@dataclass
class LabelStudio:
    """Label Studio as `label-studio start` starts it, on SQLite."""

    name: str = "Label Studio"
    project: int = 0

    def version(self) -> str:
        return _installed("label-studio", "label-studio")

    def words(self, folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        program = str(ENVIRONMENTS / "label-studio" / "bin" / "label-studio")
        options = ["--no-browser", "--data-dir", str(folder), "--port", str(port), "--log-level", "ERROR"]
        quiet = {"LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "false", "COLLECT_ANALYTICS": "False", "SENTRY_DSN": ""}
        return [program, "start", *options, "--username", "a@example.org", "--password", PASSWORD], quiet

    def prepare(self, base: str, folder: Path) -> None:  # noqa: ARG002 - asked of all tools
        choices = "".join(f'<Choice value="{answer}"/>' for answer in ANSWERS)
        choices_of = "".join(
            f'<Choices name="{one}" toName="t" choice="single">{choices}</Choices>' for one in QUESTIONS
        )
        config = f'<View><Paragraphs name="t" value="$dialog" layout="dialogue"/>{choices_of}</View>'
        owner = self._browser(base, "/user/login/", "a@example.org")
        project = {"title": "Load", "label_config": config, "maximum_annotations": 1000, "sampling": "Uniform sampling"}
        self.project = owner.post("/api/projects/", json=project).raise_for_status().json()["id"]
        talks = [[{"author": role, "text": text} for role, text in conversation(n)] for n in range(N_ITEMS)]
        tasks = [{"data": {"dialog": talk}} for talk in talks]
        owner.post(f"/api/projects/{self.project}/import", json=tasks).raise_for_status()

    def _browser(self, base: str, path: str, email: str) -> httpx.Client:
        browser = httpx.Client(base_url=base, timeout=60)
        browser.get(path)
        form = {"csrfmiddlewaretoken": browser.cookies["csrftoken"], "email": email, "password": PASSWORD}
        if browser.post(path, data=form, headers={"referer": base}).status_code != 302:
            raise SystemExit(f"Label Studio did not let {email} in.")
        browser.headers.update({"x-csrftoken": browser.cookies["csrftoken"], "referer": base})
        return browser

    def rater(self, base: str, number: int) -> Submit:
        browser = self._browser(base, "/user/signup/", f"r{number}-{uuid4().hex[:8]}@example.org")
        task = {"id": browser.get(f"/api/projects/{self.project}/next/").raise_for_status().json()["id"]}
        answer = {"choices": [ANSWERS[number % 3]]}
        result = [{"from_name": one, "to_name": "t", "type": "choices", "value": answer} for one in QUESTIONS]

        def submit() -> tuple[str, int]:
            if task["id"] is None:
                raise Finished
            address = f"/api/tasks/{task['id']}/annotations/?project={self.project}"
            saved = browser.post(address, json={"result": result, "lead_time": 2.0}).raise_for_status()
            after = browser.get(f"/api/projects/{self.project}/next/")
            # 404 if no task is left
            task["id"] = None if after.status_code == 404 else after.raise_for_status().json()["id"]
            return str(saved.json()["id"]), len(saved.content) + len(after.content)

        return submit

    def stored_annotations(self, folder: Path) -> set[str]:
        return _rows(folder / "label_studio.sqlite3", "SELECT id FROM task_completion")


@dataclass
class Potato:
    """Potato as `potato start` starts it, on its files."""

    name: str = "Potato"
    item_pattern: re.Pattern[str] = field(default_factory=lambda: re.compile(r'id="instance_id"[^>]*value="([^"]+)"'))

    def version(self) -> str:
        return _installed("potato", "potato-annotation")

    def words(self, folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        texts = ["\n".join(f"{role}: {text}" for role, text in conversation(n)) for n in range(N_ITEMS)]
        rows = [json.dumps({"id": f"i{n}", "text": text}) for n, text in enumerate(texts)]
        (folder / "items.json").write_text("\n".join(rows))
        schemes = [
            {"annotation_type": "radio", "name": one, "description": f"Is it {one}?", "labels": list(ANSWERS)}
            for one in QUESTIONS
        ]
        config = {
            "annotation_task_name": "Load",
            "task_dir": ".",
            "output_annotation_dir": "annotations/",
            "output_annotation_format": "json",
            "data_files": ["items.json"],
            "item_properties": {"id_key": "id", "text_key": "text"},
            "user_config": {"allow_all_users": True, "users": []},
            "login": {"type": "url_direct", "url_argument": "PROLIFIC_PID"},
            "assignment_strategy": "random",
            "max_annotations_per_user": N_ITEMS,
            "max_annotations_per_item": 1000,
            "annotation_schemes": schemes,
            "site_dir": "default",
            "secret_key": PASSWORD,
        }
        # JSON is YAML.
        (folder / "config.yaml").write_text(json.dumps(config))
        return [str(ENVIRONMENTS / "potato" / "bin" / "potato"), "start", "config.yaml", "-p", str(port)], {}

    def prepare(self, base: str, folder: Path) -> None:
        pass

    def rater(self, base: str, number: int) -> Submit:
        user, browser = f"r{number}-{uuid4().hex[:8]}", httpx.Client(base_url=base, timeout=60, follow_redirects=True)
        at: dict[str, str | None] = {"item": self._item(browser.get("/", params={"PROLIFIC_PID": user}))}
        answer = ANSWERS[number % 3]
        annotations = {f"{one}:{answer}": str(1 + ANSWERS.index(answer)) for one in QUESTIONS}

        def submit() -> tuple[str, int]:
            done = at["item"]
            if done is None:
                raise Finished
            body = {"instance_id": done, "annotations": annotations, "span_annotations": []}
            answers = [
                browser.post("/updateinstance", json=body).raise_for_status(),
                browser.post("/annotate", json={"action": "next_instance", "instance_id": done}).raise_for_status(),
                browser.get("/annotate").raise_for_status(),
            ]
            following = self._item(answers[-1])
            at["item"] = None if following == done else following
            return f"{user} {done}", sum(len(one.content) for one in answers)

        return submit

    def _item(self, page: httpx.Response) -> str:
        match = self.item_pattern.search(page.raise_for_status().text)
        if match is None:
            raise ValueError("the page shows no item")
        return match[1]

    def stored_annotations(self, folder: Path) -> set[str]:
        stored = set()
        for path in (folder / "annotations").glob("*/user_state.json"):
            state = json.loads(path.read_text())
            labels = state.get("instance_id_to_label_to_value", {})
            pairs = labels.items() if isinstance(labels, dict) else labels
            stored |= {f"{path.parent.name} {item}" for item, values in pairs if values}
        return stored


TOOLS: tuple[Tool, ...] = (Dissensus(), LabelStudio(), Potato())


def _rows(path: Path, query: str) -> set[str]:
    with sqlite3.connect(path) as database:
        return {str(row[0]) for row in database.execute(query)}


def run_program(words: list[str], environment: dict[str, str] | None = None) -> str:
    """Return the output of a program."""
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def _installed(environment: str, package: str) -> str:
    python = ENVIRONMENTS / environment / "bin" / "python"
    return run_program([str(python), "-c", f"import importlib.metadata as m; print(m.version({package!r}))"]).strip()
