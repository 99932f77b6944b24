"""`dissensus preference score`: scores of chatbot responses."""

import csv
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from dissensus.cli import result_writer
from dissensus.cli.preference.options import SCORE_KEY, ForceOption, PurposeOption
from dissensus.cli.result_writer import OutputOption
from dissensus.errors import InvalidInput
from dissensus.files.attempts.tables import holds_attempts
from dissensus.files.conversations import find_conversation_columns, read_conversations
from dissensus.files.raw.atomic_write import check_folder
from dissensus.files.raw.table_reader import name_source, read_frame
from dissensus.preference.jury.group_scorer import GroupScorer
from dissensus.preference.models.model import Model, check_purpose
from dissensus.workflows.models.scorers import open_model
from dissensus.workflows.models.scoring import ScoringOptions, ScoringProgress, score_attempt_file

ATTEMPTS = "Red-team attempts"


def score(
    conversations: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Red-team attempts, or conversations: columns transcript, turns, messages or response."
        ),
    ],
    model: Annotated[str, typer.Option(metavar="DIR", help="Folder of a trained model, or the URL of a served one.")],
    purpose: PurposeOption = None,
    force: ForceOption = False,
    as_group: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS=GROUP", help="Score from the view of a group, with a model of groups: rater_gender=Woman."
        ),
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Quantile of the scores over people, with a mean-variance model."),
    ] = None,
    output: OutputOption = None,
    replace_scores: Annotated[
        bool, typer.Option("--replace", help="Replace existing scores.", rich_help_panel=ATTEMPTS)
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run.", rich_help_panel=ATTEMPTS)
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE of -o if it exists.", rich_help_panel=ATTEMPTS)
    ] = False,
) -> None:
    """Score the responses in a file of attempts, or those of other conversations as csv with a row for each turn.

    The score of an attempt is the least of its bot turns, each given the preceding ones; its description is scored too.
    Existing scores are kept. A small file beside the output records the model.

    Example: dissensus preference score attempts.jsonl --model harmless-model -o scored.jsonl
    """
    of_attempts = holds_attempts(conversations)
    if not of_attempts and (replace_scores or resume or overwrite):
        raise InvalidInput(
            f"{conversations} has no red-team attempts, so --replace, --resume and --overwrite do not apply."
        )
    if of_attempts and output is None:
        raise InvalidInput("Scored attempts are written to a file. Name it: -o scored.jsonl")
    if output is not None:
        check_folder(output)
    with open_model(model, purpose=purpose, key=os.environ.get(SCORE_KEY, "")) as (trained, identity):
        check_purpose(trained, purpose or ("harmless" if of_attempts else trained.purpose), force=force)
        scorer = GroupScorer(model=trained, as_group=as_group, quantile=quantile)
        if of_attempts and output is not None:
            options = {"replace_scores": replace_scores, "resume": resume, "overwrite": overwrite}
            scorer_identity = scorer.identify(identity)
            _score_attempts(
                ScoringOptions(source=conversations, target=output, model=scorer, identity=scorer_identity, **options)
            )
        else:
            result_writer.write_text(_score_turns(conversations, scorer), output)


def _score_attempts(options: ScoringOptions) -> None:
    with _scoring_progress() as progress:
        result = score_attempt_file(options, progress=progress)
    for note in result.notes:
        typer.echo(f"Note: {note}", err=True)
    if result.n_resumed:
        typer.echo(f"{result.n_resumed:,} attempts were scored before the interruption.", err=True)
    tally = result.tally
    typer.echo(
        f"Scored {tally.scored_transcripts:,} transcripts and {tally.scored_descriptions:,} descriptions of "
        f"{result.n_attempts:,} attempts."
    )
    typer.echo(f"Wrote {options.target}, and {result.record.name} beside it.", err=True)


@contextmanager
def _scoring_progress() -> Iterator[ScoringProgress | None]:
    """Show a progress bar, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return

    attempts = TextColumn("{task.fields[n]:,} attempts")
    columns = (TextColumn("Scoring"), BarColumn(), TaskProgressColumn(), attempts, TimeRemainingColumn())
    with ProgressBar(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task("Scoring", total=1.0, n=0)
        yield lambda n, share: bar.update(job, completed=share, n=n)


def _score_turns(conversations: Path, model: Model) -> str:
    """Score conversations, and return CSV with a row for each turn of the bot."""
    frame = read_frame(conversations)
    with name_source(conversations):
        columns = find_conversation_columns(frame.columns)
        if len(columns) > 1 and columns[0] == "chosen":
            raise InvalidInput("These are pairs, which have two conversations per row: dissensus preference evaluate.")
        column = read_conversations(frame.select(columns))
    scores = model.score(parsed.conversation for parsed in column.conversations)
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("row", "bot_turn", "score"))
    for row, index in enumerate(column.indices.to_list(), start=1):
        rows.writerows((row, turn, value) for turn, value in enumerate(scores[index], start=1))
    return out.getvalue()
