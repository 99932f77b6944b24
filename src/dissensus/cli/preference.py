"""`dissensus preference`: models of which answers people choose."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli import preference_evaluate, preference_rank, preference_score, preference_serve, writing
from dissensus.cli.preference_reading import PairsArgument, PurposeOption, SeedOption, read, told
from dissensus.errors import InvalidInput

app = typer.Typer(no_args_is_help=True, help="Train, evaluate and use models of which answers people choose.")


@app.command("train")
def train(
    pairs: PairsArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", "--out", metavar="DIR", help="Folder to write the model to.")
    ],
    purpose: PurposeOption = None,
    seed: SeedOption = 0,
) -> None:
    """Train a model on pairs, and write it as a folder with its card.

    Example: dissensus preference train harmless-base/train.jsonl.gz --purpose harmless -o harmless-model
    """
    from dissensus.files.model_folder import make_folder, save_model
    from dissensus.preference.training import train

    known = purpose or told(pairs)
    if known is None:
        raise InvalidInput("It is not known what people chose by. Say --purpose harmless or --purpose helpful.")
    make_folder(output)
    found = read(pairs)
    with writing.progress("Training") as progress:
        model = train(found.pairs, purpose=known, excluded=found.excluded, seed=seed, progress=progress)
    save_model(model, output)
    held = model.card["held_out"]
    accuracy = "{estimate:.3f} [{ci_low:.3f}, {ci_high:.3f}]".format(**held["accuracy"])
    typer.echo(
        f"Trained on {len(found.pairs):,} pairs of {model.card['n_dialogues']:,} dialogues. On "
        f"{held['accuracy']['n']:,} pairs held out: accuracy {accuracy}, log-loss {held['log_loss']:.3f}, length alone "
        f"{held['length_alone']['estimate']:.3f}."
    )
    typer.echo(f"Wrote {output}.", err=True)


app.command("evaluate")(preference_evaluate.evaluate)
app.command("score")(preference_score.score)
app.command("rank")(preference_rank.rank)
app.command("serve")(preference_serve.serve)
