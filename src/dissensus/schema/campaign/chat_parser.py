"""The table ``[chat]`` of a campaign: every key is read, what is wrong is noted."""

from typing import Final

from dissensus.schema.campaign.chat import CONTINUING, PAIRINGS, Chat, Mode
from dissensus.schema.campaign.chatbot_parser import chatbot_from
from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.records.preference import ASKED

MOST_CHATBOTS: Final = 100
MOST_MODES: Final = 20
MOST_TURNS: Final = 100
MOST_CHATS: Final = 1_000


def chat_from(table: DefinitionTable) -> Chat:
    """Return what the table ``[chat]`` of a campaign describes; what is wrong is noted."""
    table.only(("chatbots", "modes", "pairing", "equal", "turns", "most_turns", "most"))
    chatbots = tuple(filter(None, map(chatbot_from, table.tables("chatbots", MOST_CHATBOTS))))
    modes = tuple(map(_mode, table.tables("modes", MOST_MODES)))
    for key, found in (("chatbots", chatbots), ("modes", modes)):
        if not table.data.get(key):
            table.note(key, f"They are missing. Write at least one [[chat.{key}]].")
        if len({one.name for one in found}) < len(found):
            table.note(key, "Two have one name. Give each its own.")
    turns = table.number("turns", 4, MOST_TURNS)
    return Chat(
        chatbots=chatbots,
        modes=modes,
        pairing=table.one_of("pairing", PAIRINGS, "different"),
        equal=table.flag("equal", default=False),
        turns=turns,
        most_turns=table.number("most_turns", 20, MOST_TURNS, least=turns),
        most=table.number("most", 5, MOST_CHATS),
    )


def _mode(table: DefinitionTable) -> Mode:
    table.only(("name", "title", "text", "compared", "continues", "edits", "intent", "success"))
    compared = table.one_of("compared", ASKED, "more helpful") if "compared" in table.data else None
    if compared is None and "compared" not in table.wrong:
        for key in ("continues", "edits"):
            if key in table.data:
                table.note(key, "Without compared there is one response, and nothing to pick. Take it out.")
    edits = table.flag("edits", default=False)
    if edits and compared == "more harmful":
        table.note("edits", "Nobody is asked to write what is harmful: only the better of two responses is edited.")
    for key, what in (("name", "in files"), ("title", "what people read")):
        if key not in table.data:
            table.note(key, f"It is missing. Write what the mode is called: {what}.")
    return Mode(
        name=table.text("name") or "",
        title=table.wording("title"),
        text=table.wording("text"),
        compared=compared,
        continues=table.one_of("continues", CONTINUING, "picked"),
        edits=edits,
        intent=table.flag("intent", default=False),
        success=table.flag("success", default=False),
    )
