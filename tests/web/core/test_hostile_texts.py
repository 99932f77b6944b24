"""Texts of chatbots and raters are escaped."""

import html
import json
import re
from html.parser import HTMLParser
from typing import Any

from tests.support.campaigns import NOW, definition, open_campaign, owner
from tests.support.hostile_texts import HOSTILE
from tests.support.live_site import LiveSite

from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.workflows.campaign import campaigns, overview


def open_with_items(live: LiveSite, *items: Item, **changes: Any) -> str:
    """Open a campaign with these items; return its key."""
    staff_id = owner(live.platform.database)
    campaigns.create_campaign(live.platform, definition(**changes), items, staff_id=staff_id, now=NOW)
    return str(campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW).key)


class PageText(HTMLParser):
    """Texts of turns and tags of elements, as parsed by a browser."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "div" and ("class", "message") in attrs:
            self._inside = True
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[-1] += data


def test_hostile_turns_are_escaped(live: LiveSite) -> None:
    turns = [("human" if i % 2 else "bot", text) for i, text in enumerate(HOSTILE)]
    talk = Conversation.from_turns([*turns, ("human", "?"), ("bot", HOSTILE[1])])  # type: ignore[list-item]
    attributes = {"harm_type": HOSTILE[0], "topic": HOSTILE[2]}
    key = open_with_items(
        live, *(Item(f"i{n}", talk, attributes) for n in range(2)), click_to_reveal=True, title=HOSTILE[0]
    )
    page = live.visitor().enter(key)
    texts = [turn.text for turn in talk.turns]
    document = PageText(page.text)
    assert document.texts == texts
    assert not document.tags & {"img", "svg"}
    assert not {name for name in document.attributes if name.startswith("on")}
    state = json.loads(re.findall(r'<script type="application/json" id="state">(.*?)</script>', page.text)[0])
    part = PageText(state["next_item"]["html"])
    assert part.texts == texts
    assert not part.tags & {"img", "svg", "script", "h1"}
    # Direction marks end with their turn.
    assert len(re.findall(r'<div class="message" lang="" dir="auto">', page.text)) == len(texts)


def test_answers_of_raters_are_escaped(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    for text in HOSTILE:
        if "\x1b" in text:
            continue
        refused = visitor.rate(page, Why=text)
        assert re.findall(r"<textarea id=\"Why\"[^>]*>(.*?)</textarea>", refused.text) == [
            html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
        ]


def test_a_very_long_turn_is_shown_completely(live: LiveSite) -> None:
    talk = Conversation.from_turns([("human", "?"), ("bot", "<a>" * 333_333)])
    page = live.visitor().enter(open_with_items(live, Item("long", talk)))
    assert PageText(page.text).texts[-1] == "<a>" * 333_333


CODE = "Run:\n\n```sh\nrm -rf <dir>\n```\n\n- **one**\n- [bank](https://evil.example) ![x](https://evil.example/a.png)"


def test_responses_are_rendered_as_markdown_only_where_the_campaign_says_so(live: LiveSite) -> None:
    talk = Conversation.from_turns([("human", "**Mine**"), ("bot", CODE)])
    typed = live.visitor().enter(open_with_items(live, Item("a", talk)))
    assert html.escape(CODE, quote=False) in typed.text.replace("&#34;", '"')
    staff_id = overview.find_owner_id(live.platform, "pilot")
    changed = definition(name="rendered", response_format="markdown")
    campaigns.create_campaign(live.platform, changed, [Item("a", talk), Item("b", talk)], staff_id=staff_id, now=NOW)
    key = str(campaigns.change_state(live.platform, "rendered", "open", staff_id=staff_id, now=NOW).key)
    page = live.visitor().enter(key, name="rendered")
    state = json.loads(re.findall(r'<script type="application/json" id="state">(.*?)</script>', page.text)[0])
    for shown in (page.text, state["next_item"]["html"]):
        assert '<code class="language-sh">rm -rf &lt;dir&gt;\n</code>' in shown
        assert '<u>bank</u> <span class="address">(https://evil.example)</span>' in shown
        assert "**Mine**" in shown  # what people write is shown as typed
        assert not {"img"} & PageText(shown).tags
        assert 'href="https://evil' not in shown


def test_hostile_responses_stay_text_as_markdown(live: LiveSite) -> None:
    talk = Conversation.from_turns([("human", "?"), ("bot", "\n\n".join(HOSTILE))])
    page = live.visitor().enter(open_with_items(live, Item("a", talk), response_format="markdown"))
    document = PageText(page.text)
    assert not document.tags & {"img", "svg"}
    assert not {name for name in document.attributes if name.startswith("on")}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text


def test_long_responses_are_shown_as_typed(live: LiveSite) -> None:
    talk = Conversation.from_turns([("human", "?"), ("bot", "**a** " * 20_000)])
    page = live.visitor().enter(open_with_items(live, Item("a", talk), response_format="markdown"))
    assert "**a** **a**" in page.text


def test_turns_of_tools_and_of_the_system_are_named(live: LiveSite) -> None:
    turns = [("human", "?"), ("tool", "search(<b>)"), ("system", "Be short."), ("bot", "No.")]
    page = live.visitor().enter(open_with_items(live, Item("a", Conversation.from_turns(turns))))  # type: ignore[arg-type]
    shown = re.findall(r'<li class="turn (\w+)[ "].*?<p class="speaker">([\w ]+)', page.text, flags=re.DOTALL)
    assert [(speaker, name.strip()) for speaker, name in shown] == [
        ("human", "Person"),
        ("tool", "Tool"),
        ("system", "System"),
        ("bot", "Chatbot"),
    ]
    assert "search(&lt;b&gt;)" in page.text
