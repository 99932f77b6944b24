"""A story on the platform: campaigns of every kind, and raters who take part in them."""

import base64
import csv
import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import httpx
import tomli_w
from fastapi import FastAPI
from tests.behaviour import site
from tests.behaviour.commands import Shell
from tests.behaviour.determinism import DRAWS, Clock
from tests.behaviour.forms import form_to
from tests.behaviour.receiver import Receiver, receiving
from tests.behaviour.visitors import ID, Rater, Visitor, find_match, serving
from tests.behaviour.writer import Writer

SECRET: Final = "of-a-recorder-and-nobody-else-0123456789"
RECRUITER: Final = "of-the-workspace"
SHARED: Final = ("full", "shipped", "talk")
"""Campaigns with a member in each role."""
BASE: Final = "https://rate.example.org"
SCALE: Final = ["No", "Unsure", "Yes"]
SMALL: Final[dict[str, Any]] = {
    "name": "small",
    "languages": ["en"],
    "title": "A small campaign",
    "warning": "Some of it is cruel.",
    "help": "Talk to somebody.",
    "thanks": "Thank you.",
    "consent": {
        "text": "We keep your answers.",
        "purposes": [
            {"name": "rating", "text": "My answers may be analysed.", "required": True},
            {"name": "release", "text": "My answers may be published."},
        ],
    },
    "questionnaire": {
        "name": "two",
        "languages": ["en"],
        "title": "Two questions",
        "questions": [
            {"name": "Q_safe", "text": "Is it unsafe?", "scale": SCALE},
            {"name": "Why", "text": "Why?", "kind": "text", "required": False},
        ],
    },
}
DEMOGRAPHICS: Final[dict[str, Any]] = {
    "name": "you",
    "about": "rater",
    "languages": ["en"],
    "title": "About you",
    "questions": [{"name": "rater_age", "text": "How old?", "scale": ["young", "old"], "decline": "Not to be said"}],
}
CHECKS: Final[list[dict[str, Any]]] = [
    {
        "name": "choose",
        "kind": "instruction",
        "text": "Please choose Unsure.",
        "scale": SCALE,
        "correct_answers": ["Unsure"],
        "after": 2,
    },
    {
        "name": "swim",
        "kind": "nonsense",
        "text": "I swim to work.",
        "scale": ["Disagree", "Agree"],
        "correct_answers": ["Disagree"],
        "after": 1,
    },
]
PAY: Final = {"currency": "GBP", "hourly_rate": 1200, "finished": 600, "screened_out": 50}
FULL: Final = SMALL | {
    "name": "full",
    "title": "With <b>everything</b>",
    "demographics": DEMOGRAPHICS,
    "demographics_position": "after",
    "checks": CHECKS,
    "estimated_minutes": 20,
    "pay": PAY,
    "care": {"survey_every": 2, "contact": "Mia, who listens"},
    "break_every": 3,
    "click_to_reveal": True,
}
CELLS: Final = SMALL | {
    "name": "cells",
    "demographics": DEMOGRAPHICS,
    "quota": {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 2, "rest": 1},
}
PAIRS: Final = {key: value for key, value in SMALL.items() if key != "questionnaire"} | {
    "name": "pairs",
    "pair": {"criterion": "more helpful", "allow_ties": True},
}
STUDY: Final = SMALL | {
    "name": "study",
    "pay": PAY,
    "estimated_minutes": 20,
    "recruit": {"kind": "prolific", "codes": {name: f"CODE0{place}" for place, name in enumerate(site.OUTCOMES)}},
}
MANY: Final = SMALL | {"name": "many"}
CAMPAIGNS: Final = {one["name"]: one for one in (SMALL, FULL, MANY, CELLS, PAIRS, STUDY)}
ITEMS: Final = {"pairs": "pairs.jsonl", "many": "many.csv"}


@dataclass
class World:
    """The platform while the story takes place.

    Parameters
    ----------
    shell
        Runs commands on its database.
    links
        Of campaigns by their names.
    people
        Staff by their names.
    raters
        By the names of campaigns, in the order of their arrival.
    """

    app: FastAPI
    client: httpx.Client
    clock: Clock
    writer: Writer
    folder: Path
    shell: Shell
    receiver: Receiver
    links: dict[str, str] = field(default_factory=dict)
    people: dict[str, Visitor] = field(default_factory=dict)
    raters: dict[str, list[Rater]] = field(default_factory=dict)
    program: Visitor | None = None

    def visitor(self, name: str) -> Visitor:
        """Return a visitor with a new browser."""
        return Visitor(self.client, self.clock, self.writer.under(name))

    def rater(self, campaign: str, choice: int, link: str | None = None, **answers: Sequence[str]) -> Rater:
        """Return a rater who has come and agreed."""
        raters = self.raters.setdefault(campaign, [])
        writer = self.writer.under(f"{campaign}/rater-{len(raters) + 1}")
        visitor = Rater(self.client, self.clock, writer, choice=choice, answers=answers)
        raters.append(visitor)
        visitor.arrive(link or self.links[campaign])
        return visitor

    def staff(self, name: str) -> Visitor:
        """Return a member of staff, who signed in once."""
        return self.people[name] if name in self.people else self.sign_in(name)

    def sign_in(self, name: str) -> Visitor:
        """Return a member of staff, signed in by a new link."""
        if name not in self.people:
            self.people[name] = self.visitor(f"staff/{name}")
        path = "/" + self.shell.run("sign-in", name).strip().split("/", 3)[3]
        self.people[name].press(path, f"/sign-in/{ID}")
        return self.people[name]

    def api(self) -> Visitor:
        """Return a program of the owner."""
        if self.program is None:
            self.program = self.visitor("api")
            scopes = [word for scope in sorted(site.SCOPES) for word in ("--scope", scope)]
            key = find_match(self.shell.run("staff", "token", "ada", *scopes), r"(?m)\S{30,}$")
            self.program.headers["authorization"] = f"Bearer {key}"
        return self.program

    def send(self, path: str, method: str = "POST", **body: Any) -> Any:
        """Send JSON to the API as the owner and return the response."""
        answer = self.api().record(f"{method} {path}", method, f"/api/v1/campaigns{path}", json=body or None)
        return answer.json() if answer.content else None

    def jobs(self) -> None:
        """Run what runs beside the site."""
        DRAWS.begin()
        self.clock.forward(minutes=5)
        site.run_jobs(self.app, self.clock, self.folder / "models")


@contextmanager
def play_story(writer: Writer, folder: Path) -> Iterator[World]:
    """Play the story, and yield the world while it stands."""
    clock, database = Clock(), f"sqlite:///{folder / 'story.db'}"
    settings = {"database_url": database, "base_url": BASE, "password_passes": "1", "password_memory_mib": "1"}
    settings |= {
        "webhook_networks": "127.0.0.0/8",
        "prolific_secret": RECRUITER,
        "secret_key": SECRET,
        "model_registry": str(folder / "models"),
    }
    site.freeze_commands(clock)
    shell = Shell(writer.under("commands"), folder, settings)
    shell.run("db", "upgrade")
    values = {name: value for name, value in settings.items() if name != "secret_key"}
    app = site.make_app(SECRET, clock, **values)
    with ExitStack() as open_:
        client = open_.enter_context(serving(app, BASE))
        world = World(app, client, clock, writer, folder, shell, open_.enter_context(receiving()))
        for scene in SCENES:
            scene(world)
        yield world


def _campaigns(world: World) -> None:
    """Make campaigns, and let people belong to them."""
    _write_items(world.folder)
    for name, definition in CAMPAIGNS.items():
        (world.folder / f"{name}.toml").write_text(tomli_w.dumps(definition))
        items = ITEMS.get(name, "items.csv")
        world.shell.run("campaign", "new", f"{name}.toml", "--items", items, "--owner", "ada")
    world.shell.run("campaign", "new", "dices-350", "--name", "shipped", "--items", "items.csv", "--owner", "ada")
    world.shell.run("campaign", "new", "red-team", "--name", "talk", "--owner", "ada")
    world.shell.run("campaign", "new", "dices-350", "--name", "draft", "--owner", "ada")
    world.shell.run("sign-in", "zoe")
    world.shell.run("campaign", "new", "dices-350", "--name", "foreign", "--items", "items.csv", "--owner", "zoe")
    for role in site.ROLES:
        if role != "owner":
            for name in SHARED:
                world.shell.run("staff", "add", name, role, "--role", role)
    for number in range(2, 7):
        world.shell.run("staff", "add", "shipped", f"expert-{number}", "--role", "expert")
    for name in (*CAMPAIGNS, "shipped", "talk"):
        out = world.shell.run("campaign", "open", name)
        if "?key=" in out:
            world.links[name] = find_match(out, rf"{BASE}(/c/\S+)")


def _webhooks(world: World) -> None:
    """Tell addresses what happens from now on."""
    world.send("/full/webhooks", address=world.receiver.address("ok"))
    world.send("/full/webhooks", address=world.receiver.address("gone"), kinds=["item_submitted", "withdrawn"])
    world.staff("ada").press(
        "/campaigns/talk/webhooks", "/campaigns/talk/webhooks", address=world.receiver.address("talk")
    )


def _small(world: World) -> None:
    """Let raters answer, leave out, report and withdraw."""
    for choice in range(6):
        rater = world.rater("small", choice, Why=[f"Because of {choice}."])
        rater.send_blank()
        rater.steps(2)
        if choice == 1:
            rater.leave_out()
        if choice == 2:
            rater.report("This one is <i>broken</i>.")
        last = rater.steps() if choice != 3 else rater.current_page()
        if choice == 4:
            rater.press(find_match(last.text, r'href="([^"]*/withdraw/[^"]+)"').removeprefix(BASE), "/withdraw/.*")


def _full(world: World) -> None:
    """Let raters pass and fail checks, tell how they feel, and end."""
    for choice in range(7):
        answer = ["No", "Agree"] if choice == 4 else ["Unsure", "Disagree"]
        rater = world.rater("full", choice, answer=answer, notify=["yes"])
        rater.send_blank()
        rater.steps()


def _many(world: World) -> None:
    """Rate so much that those who hurry are flagged."""
    for choice in range(6):
        rater = world.rater("many", choice, Q_safe=SCALE if choice else SCALE[:1], Why=["Because."])
        rater.rate_quickly(400 if choice == 1 else 9000 + 700 * choice)


def _cells(world: World) -> None:
    """Fill the cells of a quota, and turn one rater away."""
    for choice in (0, 0, 0, 1, 1, 1, 2, 2):
        world.rater("cells", choice).steps()


def _pairs(world: World) -> None:
    """Compare pairs."""
    for choice in range(4):
        world.rater("pairs", choice).steps()


def _shipped(world: World) -> None:
    """Rate with the questionnaire of DICES-350, in both languages and by a personal link."""
    for choice in range(3):
        world.rater("shipped", choice, language=[("en", "de")[choice % 2]]).steps()
    invitations = world.send("/shipped/invitations", n=2)
    world.shell.run("campaign", "invite", "shipped", "-n", "2", "--format", "csv")
    link = find_match(json.dumps(invitations), rf'{BASE}(/c/[^"]+)')
    world.rater("shipped", 1, link).steps(3)


def _talk(world: World) -> None:
    """Talk with chatbots in both modes."""
    for choice in range(3):
        rater = world.rater("talk", choice)
        rater.send_blank()
        rater.steps()


def _study(world: World) -> None:
    """Let people come from a recruiter, who tells what becomes of them."""
    for choice in range(3):
        ids = {"PROLIFIC_PID": f"{choice:024x}", "STUDY_ID": "5" * 24, "SESSION_ID": f"{choice + 7:024x}"}
        rater = world.rater("study", choice, f"{world.links['study']}&{urlencode(ids)}")
        rater.steps(100 if choice else 2)
        status = ("RETURNED", "AWAITING REVIEW", "APPROVED")[choice]
        event = {"resource_id": ids["SESSION_ID"], "participant_id": ids["PROLIFIC_PID"], "status": status}
        body = json.dumps({"event_type": "submission.status.change", **event}).encode()
        at = f"{world.clock().timestamp():.0f}"
        signed = base64.b64encode(hmac.new(RECRUITER.encode(), at.encode() + body, hashlib.sha256).digest()).decode()
        headers = {"X-Prolific-Request-Timestamp": at, "X-Prolific-Request-Signature": signed}
        headers["X-Event-Id"] = f"{choice + 99:024x}"
        rater.record("event", "POST", "/prolific/events", content=body, headers=headers)


def _gold(world: World) -> None:
    """Label items as experts, verify, check and decide."""
    experts = ["expert", *(f"expert-{number}" for number in range(2, 7))]
    for index, name in enumerate(experts):
        for position in range(3):
            _label(world.staff(name), position, choice=1 if index == 3 and position == 1 else 0)
    _label(world.staff("ada"), 1, choice=0)
    labels = [{"item": f"item-{n}", "label": "No", "attributes": {"n": "9"}} for n in range(3)]
    world.send("/shipped/gold/platinum", source="An earlier study", labels=labels)


def _label(visitor: Visitor, position: int, choice: int) -> None:
    path = f"/campaigns/shipped/gold/items/{position}"
    form = form_to(visitor.record(f"see {path}", "GET", path).text, f"{path}(/decide)?")
    if form is not None:
        visitor.record(f"label {path}", "POST", form.action, data=form.fill_out({}, choice))


def _decisions(world: World) -> None:
    """Settle, decide and pay by the API."""
    world.jobs()
    for notice in world.send("/small/notices", "GET")["data"]:
        world.send(f"/small/notices/{notice['id']}/settlement", show_again=False)
    for rater in world.send("/full/raters", "GET")["data"][:2]:
        paid = world.send(f"/full/pay/raters/{rater['id']}/payments", amount=100)
    world.send(f"/full/pay/raters/{rater['id']}/payments/{paid['id']}", "DELETE")
    for flag, verdict in zip(world.send("/many/flags", "GET")["data"], ("exclude", "keep"), strict=False):
        rater_id = next(value for name, value in flag.items() if name.startswith("rater"))
        world.send(f"/many/flags/{rater_id}/decisions", verdict=verdict, reason="Too fast.")
    world.send(f"/cells/raters/{world.send('/cells/raters', 'GET')['data'][0]['id']}", "DELETE")


def _setting_up(world: World) -> None:
    """Change campaigns and their people by the API, rightly and wrongly."""
    invited = [world.send("/full/members", role=role) for role in ("analyst", "expert")]
    link = find_match(json.dumps(invited[0]), rf'{BASE}(/join/[^"]+)')
    world.staff("zoe").press(link)
    world.send("/full/clones", name="clone")
    world.send("/clone/definition", "PUT", definition=FULL | {"name": "clone", "title": "Another title"})
    world.send("/small/definition", "PUT", definition=SMALL | {"title": "Another title"})
    world.send("/small/state", state="paused")
    talk = [{"speaker": "human", "text": "Hi"}, {"speaker": "bot", "text": "Hello."}]
    world.send("/draft/items", items=[{"id": "1", "conversation": talk}])
    world.send("/draft/items", items=[{"id": "1", "context": "User: Hi"}])
    world.send("/clone/items", "DELETE")
    world.send("/nothing/state", state="open")
    world.send("/small/state", state="shut")
    world.send("", definition=SMALL | {"name": "by-program"}, items=[{"id": "1", "conversation": talk}])
    world.send("", definition=SMALL | {"name": "By Program", "title": 3})


def _by_hand(world: World) -> None:
    """Do by forms what staff do."""
    # Sessions of the first day have ended.
    ada, mia = world.sign_in("ada"), world.sign_in("carer")
    items = {"items_file": ("items.csv", (world.folder / "items.csv").read_bytes())}
    toml = tomli_w.dumps(SMALL | {"name": "by-page"})
    ada.press("/campaigns/new")
    page = ada.press("/campaigns/new", files=items, definition=toml)
    ada.proceed(page, "/campaigns/new")
    page = ada.press("/campaigns/draft/items/add", "/campaigns/draft/items", files=items)
    ada.proceed(page, "/campaigns/draft/items")
    ada.press("/campaigns/draft/items/remove")
    ada.press("/campaigns/draft/revise")
    ada.press("/campaigns/draft/settings", "/campaigns/draft/clone", new_name="by-hand")
    ada.press("/campaigns/cells", "/campaigns/cells/state")
    for action in ("rehearse", "dry-run", "invite"):
        ada.press("/campaigns/full", f"/campaigns/full/{action}")
    ada.press("/campaigns/talk", "/campaigns/talk/conversations")
    ada.press("/campaigns/full/staff", "/campaigns/full/staff/invite")
    ada.press("/campaigns/full/staff", "/campaigns/full/staff/revoke")
    ada.press("/account", "/account/tokens", name="by hand", scope=["list"])
    ada.press("/account", "/account/tokens/revoke")
    ada.press("/account", "/account/password", new="a few plain words", repeated="a few plain words")
    ada.press("/campaigns/full/webhooks", "/campaigns/full/webhooks/resume")
    rater_id = world.send("/small/raters", "GET")["data"][0]["id"]
    page = ada.record("find", "GET", f"/campaigns/small/withdraw?rater={rater_id}")
    ada.proceed(page, "/campaigns/small/withdraw")
    page = ada.press("/curation", files=items)
    page = ada.proceed(page, "/curation", n="3", seed="1")
    for choice in range(3):
        ada.proceed(page, "/curation", choice=choice)
    ada.proceed(page, "/campaigns/new")
    mia.press("/campaigns/full/care")


def _by_command(world: World) -> None:
    """Do by commands what staff do."""
    run = world.shell.run
    run("campaign", "clone", "full", "commanded")
    run("campaign", "add-items", "commanded", "many.csv")
    run("campaign", "remove-items", "commanded", "--yes")
    run("campaign", "add-items", "commanded", "items.csv")
    run("campaign", "revise", "full.toml", "--name", "commanded")
    run("campaign", "rehearse", "commanded", "--raters", "2", "--seed", "1")
    for state in ("open", "pause", "open", "close"):
        run("campaign", state, "commanded")
    (world.folder / "platinum.csv").write_text("item_id,label,n\nitem-1,No,9\nitem-2,Yes,8\n")
    run("campaign", "add-platinum", "shipped", "platinum.csv", "--source", "Another study", "--replace")
    for words in STAFF.splitlines():
        run(*words.split(), typed="a few plain words\n" if "password" in words else "")
    run("backup", "backup.db")
    run("backup", "backup.db")
    run("restore", "backup.db")


STAFF: Final = """staff invite full --role analyst
staff add full bob --role expert
staff add full bob --role expert
staff role full bob analyst
staff role full ada expert
staff remove full bob
staff remove full nobody
staff email bob bob@example.org
staff password bob
staff token bob --scope list --name short --days 3
staff token bob --scope nothing
staff tokens bob
staff revoke bob short
sign-in bob --sign-out
prolific study full --places 3 --description Text"""


def _end(world: World) -> None:
    """Run what runs beside the site, and export by commands."""
    world.jobs()
    for name in sorted(world.links):
        world.shell.run("audit", name)
        world.shell.run("audit", name, "--json")
        world.shell.run("campaign", "show", name)
        suffix = "" if name in ("pairs", "talk") else ".csv"
        for purpose in ("rating", "release", "research"):
            world.shell.run("export", name, "-o", f"export-{name}-{purpose}{suffix}", "--purpose", purpose)
        world.shell.run("export", name, "-o", f"export-{name}.csv", "--with-text")
        world.shell.run("export", name, "-o", f"export-{name}-raw.csv", "--raw")
    for kind in ("table", "json", "csv"):
        world.shell.run("campaign", "list", "--format", kind)
        world.shell.run("staff", "list", "--format", kind)
        world.shell.run("staff", "tokens", "ada", "--format", kind)
    world.shell.run("db", "check")
    for path in sorted(world.folder.glob("export-*")):
        if path.is_dir():
            world.writer.write_folder(f"exports/{path.name}", path)
        else:
            world.writer.write(f"exports/{path.name}.txt", path.read_text("utf-8"))
    _write_requests(world)


def _write_requests(world: World) -> None:
    """Record what webhooks were sent."""
    for number, request in enumerate(sorted(world.receiver.requests)):
        world.writer.write(f"webhooks/{number:03}.txt", request)


def _write_items(folder: Path) -> None:
    for name, n_items in (("items.csv", 6), ("many.csv", 24)):
        with (folder / name).open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["item_id", "context", "response", "phase"])
            for n in range(n_items):
                context = f"User: Question {n}?\nBot: Perhaps.\nUser: Tell me."
                rows.writerow([f"item-{n}", context, f"Answer {n}.", "ab"[n % 2]])
    pairs = [
        {
            "item_id": f"pair-{n}",
            "context": f"Human: Question {n}?",
            "response_a": f"Long answer {n}.",
            "response_b": f"No {n}.",
        }
        for n in range(4)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in pairs))


RATING = (_small, _full, _many, _cells, _pairs, _shipped, _talk, _study)
SCENES = (_campaigns, _webhooks, *RATING, _gold, _decisions, _setting_up, _by_hand, _by_command, _end)
