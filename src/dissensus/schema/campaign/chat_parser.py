"""Parser of the table ``[chat]`` of a campaign."""

from typing import Final

from dissensus.schema.campaign.chat import CONTINUE_WITH, PAIRINGS, ChatMode, ChatSettings
from dissensus.schema.campaign.chatbot_parser import parse_chatbot_table
from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.records.preference import CRITERIA

MAX_CHATBOTS: Final = 100
MAX_MODES: Final = 20
MAX_PERSON_TURNS: Final = 100
MAX_CHATS: Final = 1_000


def parse_chat(table: DefinitionTable) -> ChatSettings:
    """Parse the table ``[chat]`` of a campaign; errors are recorded."""
    table.check_keys(("chatbots", "modes", "pairing", "equal", "turns", "most_turns", "most"))
    chatbots = tuple(filter(None, map(parse_chatbot_table, table.get_tables("chatbots", MAX_CHATBOTS))))
    modes = tuple(map(_mode, table.get_tables("modes", MAX_MODES)))
    for key, found in (("chatbots", chatbots), ("modes", modes)):
        if not table.data.get(key):
            table.add_error(key, f"They are missing. Write at least one [[chat.{key}]].")
        if len({one.name for one in found}) < len(found):
            table.add_error(key, "Two have one name. Give each its own.")
    turns = table.get_number("turns", 4, MAX_PERSON_TURNS)
    return ChatSettings(
        chatbots=chatbots,
        modes=modes,
        pairing=table.get_choice("pairing", PAIRINGS, "different"),
        equal=table.get_flag("equal", default=False),
        turns=turns,
        most_turns=table.get_number("most_turns", 20, MAX_PERSON_TURNS, least=turns),
        most=table.get_number("most", 5, MAX_CHATS),
    )


def _mode(table: DefinitionTable) -> ChatMode:
    table.check_keys(("name", "title", "text", "compared", "continues", "edits", "intent", "success"))
    compared = table.get_choice("compared", CRITERIA, "more helpful") if "compared" in table.data else None
    if compared is None and "compared" not in table.invalid_keys:
        for key in ("continues", "edits"):
            if key in table.data:
                table.add_error(key, "Without compared there is one response, and nothing to pick. Take it out.")
    edits = table.get_flag("edits", default=False)
    if edits and compared == "more harmful":
        table.add_error(
            "edits", "Nobody is asked to write what is harmful: only the better of two responses is edited."
        )
    for key, what in (("name", "in files"), ("title", "what people read")):
        if key not in table.data:
            table.add_error(key, f"It is missing. Write what the mode is called: {what}.")
    return ChatMode(
        name=table.get_text("name") or "",
        title=table.get_wording("title"),
        text=table.get_wording("text"),
        compared=compared,
        continues=table.get_choice("continues", CONTINUE_WITH, "picked"),
        edits=edits,
        intent=table.get_flag("intent", default=False),
        success=table.get_flag("success", default=False),
    )
