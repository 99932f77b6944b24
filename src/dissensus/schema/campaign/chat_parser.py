"""Parser of the table ``[chat]`` of a campaign."""

from typing import Final

from dissensus.schema.campaign.chat import CONTINUE_WITH, PAIRINGS, ChatMode, ChatSettings
from dissensus.schema.campaign.chatbot_parser import parse_chatbot_table
from dissensus.schema.definition_table import DefinitionTable, check_distinct_names
from dissensus.schema.records.preference import CRITERIA

MAX_CHATBOTS: Final = 100
MAX_MODES: Final = 20
MAX_PERSON_TURNS: Final = 100
MAX_CHATS: Final = 1_000


def parse_chat(table: DefinitionTable) -> ChatSettings:
    """Parse the table ``[chat]`` of a campaign; errors are recorded."""
    table.check_keys(("chatbots", "modes", "pairing", "allow_ties", "turns", "max_turns", "max_conversations"))
    chatbots = tuple(filter(None, map(parse_chatbot_table, table.get_tables("chatbots", MAX_CHATBOTS))))
    modes = tuple(map(_parse_mode, table.get_tables("modes", MAX_MODES)))
    for key, names in (("chatbots", [bot.name for bot in chatbots]), ("modes", [mode.name for mode in modes])):
        if not table.data.get(key):
            table.add_error(key, f"They are missing. Write at least one [[chat.{key}]].")
        check_distinct_names(table, key, names)
    turns = table.get_number("turns", 4, MAX_PERSON_TURNS)
    return ChatSettings(
        chatbots=chatbots,
        modes=modes,
        pairing=table.get_choice("pairing", PAIRINGS, "different"),
        allow_ties=table.get_flag("allow_ties", default=False),
        turns=turns,
        max_turns=table.get_number("max_turns", 20, MAX_PERSON_TURNS, least=turns),
        max_conversations=table.get_number("max_conversations", 5, MAX_CHATS),
    )


def _parse_mode(table: DefinitionTable) -> ChatMode:
    table.check_keys(("name", "title", "text", "criterion", "continue_with", "allow_edits", "intent", "success"))
    criterion = table.get_choice("criterion", CRITERIA, "more helpful") if "criterion" in table.data else None
    if criterion is None and "criterion" not in table.invalid_keys:
        for key in ("continue_with", "allow_edits"):
            if key in table.data:
                table.add_error(key, "Without criterion there is one response, and nothing to pick. Remove it.")
    allow_edits = table.get_flag("allow_edits", default=False)
    if allow_edits and criterion == "more harmful":
        table.add_error("allow_edits", "Raters never write harmful text: only the better of two responses is edited.")
    for key, use in (("name", "in files"), ("title", "on pages")):
        if key not in table.data:
            table.add_error(key, f"It is missing. Write what the mode is called {use}.")
    return ChatMode(
        name=table.get_text("name") or "",
        title=table.get_wording("title"),
        text=table.get_wording("text"),
        criterion=criterion,
        continue_with=table.get_choice("continue_with", CONTINUE_WITH, "picked"),
        allow_edits=allow_edits,
        intent=table.get_flag("intent", default=False),
        success=table.get_flag("success", default=False),
    )
