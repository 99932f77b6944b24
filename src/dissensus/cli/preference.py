"""`dissensus preference`: models of which answers people choose."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dissensus.cli import (
    preference_evaluate,
    preference_line,
    preference_rank,
    preference_score,
    preference_serve,
    preference_show,
    writing,
)
from dissensus.cli.preference_reading import (
    KindOption,
    PairsArgument,
    PurposeOption,
    RatersOption,
    SeedOption,
    SoftOption,
    StrengthOption,
    read,
    told,
)
from dissensus.errors import InvalidInput

app = typer.Typer(no_args_is_help=True, help="Train, evaluate and use models of which answers people choose.")


@app.command("train")
def train(
    pairs: PairsArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", "--out", metavar="DIR", help="Folder to write the model to.")
    ],
    purpose: PurposeOption = None,
    kind: KindOption = "linear",
    strength: StrengthOption = "ignored",
    soft_labels: SoftOption = False,
    raters: RatersOption = None,
    seed: SeedOption = 0,
) -> None:
    """Train a model on pairs, or on what each person said of them, and write it as a folder with its card.

    Example: dissensus preference train export/preferences.jsonl --raters export/red-teamers.jsonl --kind groups -o m
    """
    from dissensus.files.model_folder import make_folder, save_model
    from dissensus.preference.counting import Counting
    from dissensus.preference.training import Plan, train

    known = purpose or told(pairs)
    if known is None:
        raise InvalidInput("It is not known what people chose by. Say --purpose harmless or --purpose helpful.")
    plan = Plan.of(kind, Counting(strength=strength, soft=soft_labels))
    make_folder(output)
    found = read(pairs, known, raters)
    with writing.progress("Training") as progress:
        model = train(found.pairs, purpose=known, plan=plan, excluded=found.excluded, seed=seed, progress=progress)
    save_model(model, output)
    held = model.card["held_out"]
    accuracy = "{estimate:.3f} [{ci_low:.3f}, {ci_high:.3f}]".format(**held["accuracy"])
    typer.echo(
        f"Trained on {len(found.pairs):,} pairs of {model.card['n_dialogues']:,} dialogues. On "
        f"{held['accuracy']['n']:,} pairs held out: accuracy {accuracy}, log-loss {held['log_loss']:.3f}, length alone "
        f"{held['length_alone']['estimate']:.3f}.{_more(model.card)}"
    )
    typer.echo(f"Wrote {output}.", err=True)


def _more(card: dict[str, Any]) -> str:
    """Say what a model that knows of disagreement found."""
    held = card["held_out"]
    if "r_squared" in held:
        return f" Of all variance {held['r_squared']:.2f} lies between answers (r²)."
    if "by_group" not in held:
        return ""
    axes = ", ".join(card["settings"]["effect_penalties"])
    return f" Differences were found on: {axes}." if axes else " No differences between groups or raters were found."


app.command("evaluate")(preference_evaluate.evaluate)
app.command("score")(preference_score.score)
app.command("show")(preference_show.show)
app.command("rank")(preference_rank.rank)
app.command("serve")(preference_serve.serve)
app.command("line")(preference_line.line)
app.command("retrain")(preference_line.retrain)
app.command("versions")(preference_line.versions)
app.command("rollback")(preference_line.rollback)
