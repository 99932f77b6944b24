"""`dissensus jury evaluate`: a jury model on conversations held out of training."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.jury.options import (
    EmbeddingsOption,
    EpochsOption,
    JointPairsOption,
    LearnedAxisOption,
    LearningRateOption,
    LeastRatersOption,
    PairRatersOption,
    TransformerOption,
    UnsafeOption,
    load_encoder,
    make_plan,
    read_joint_pairs,
)
from dissensus.cli.lazy_group import LazyCommand
from dissensus.cli.options import ConfidenceOption, CrossOption, SeedOption
from dissensus.cli.ratings_options import split_categories, with_ratings_options
from dissensus.cli.result_writer import FormatOption, OutputOption

if TYPE_CHECKING:
    from dissensus.schema.ratings.table import Ratings


@partial(with_ratings_options, pairs=LazyCommand("dissensus.cli.jury.pairs", "evaluate_on_pairs", ""))
def evaluate(
    load: "partial[Ratings]",
    by: LearnedAxisOption = None,
    cross: CrossOption = None,
    unsafe: UnsafeOption = None,
    min_raters: LeastRatersOption = 5,
    embeddings: EmbeddingsOption = False,
    pairs: JointPairsOption = None,
    pair_raters: PairRatersOption = None,
    transformer: TransformerOption = None,
    epochs: EpochsOption = None,
    learning_rate: LearningRateOption = None,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Folds of conversations.")] = 5,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Measure predicted answers on conversations held out of training, by group, compared with baseline models.

    Log-loss of the answers of each group, beside the shares of the group over all items, a model of plurality labels,
    and the model without groups; with --pairs, the model without the pairs. Of preference pairs: beside chance, and a
    linear preference model.

    Example: dissensus jury evaluate ratings.csv --items items.csv --by race
    """
    # Imported here, so that --help does not import polars.
    from dissensus.cli.jury.display import jury_evaluation_page, write_jury_result
    from dissensus.preference.jury.evaluation import evaluate_jury

    kind = result_writer.choose_format(format, output)
    options = {"--epochs": epochs, "--learning-rate": learning_rate}
    plan = make_plan(transformer, options, {"--embeddings": embeddings, "--pairs": pairs})
    encoder = load_encoder(embeddings=embeddings)
    joint_pairs = read_joint_pairs(pairs, pair_raters)
    ratings = load()
    with result_writer.progress_bar("Training") as progress:
        result = evaluate_jury(
            ratings,
            joint_pairs,
            unsafe=split_categories(unsafe),
            by=[*(by or ()), *(cross or ())],
            min_raters=min_raters,
            n_folds=folds,
            confidence=confidence,
            seed=seed,
            encoder=encoder,
            plan=plan,
            progress=progress,
        )
    write_jury_result(result, jury_evaluation_page(result), kind, output)
