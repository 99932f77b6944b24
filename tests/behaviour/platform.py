"""A scripted story on the platform in this process, and all that can be seen of the platform after it."""

from pathlib import Path

from tests.behaviour import pages, story
from tests.behaviour.writer import Writer


def record(writer: Writer, folder: Path) -> None:
    """Record what people meet who take part in some campaigns, and everything that is left of it."""
    with story.play_story(writer.under("story"), folder) as world:
        pages.record(writer, world)
