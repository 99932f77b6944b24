"""Options shared by commands on jury models."""

from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli.options import GROUPS

if TYPE_CHECKING:
    from dissensus.preference.models.encoder import Encoder

EmbeddingsOption = Annotated[
    bool, typer.Option("--embeddings", help="Add vectors of responses by MiniLM to words (extra embeddings).")
]
UnsafeOption = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="Answers that call a text unsafe. Default: the last of the scale.")
]
LearnedAxisOption = Annotated[
    list[str] | None,
    typer.Option(metavar="AXIS", help="Axis of raters, such as race; repeatable.", rich_help_panel=GROUPS),
]
LeastRatersOption = Annotated[
    int, typer.Option(metavar="N", min=1, help="Learn groups of N raters or more.", rich_help_panel=GROUPS)
]


def pick_encoder(*, embeddings: bool) -> "Encoder | None":
    """Return the encoder of responses, if there is one."""
    # Imported here, since MiniLM is large.
    from dissensus.preference.models.mini_lm import load_minilm

    return load_minilm() if embeddings else None
