"""`dissensus jury train` and `dissensus jury evaluate` on files of preference pairs."""

from pathlib import Path

from dissensus.cli import result_writer
from dissensus.cli.jury.display import jury_evaluation_page, write_jury_result
from dissensus.cli.jury.options import load_encoder
from dissensus.cli.jury.train import save_jury_model
from dissensus.cli.preference.options import infer_purpose, load_pairs
from dissensus.cli.result_writer import Format
from dissensus.errors import InvalidInput
from dissensus.files.models.folder import make_model_folder
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.jury.pair_evaluation import evaluate_pair_jury
from dissensus.preference.jury.pairs import fit_pair_jury, read_jury_pairs


def train_on_pairs(
    files: list[Path],
    *,
    output: Path,
    raters: Path | None,
    by: list[str] | None,
    min_raters: int,
    purpose: Purpose | None,
    embeddings: bool,
) -> None:
    """Train a jury model on preference pairs."""
    known_purpose = purpose or infer_purpose(files)
    if known_purpose is None:
        raise InvalidInput("The criterion of the choices is unknown. Give --purpose harmless or --purpose helpful.")
    encoder = load_encoder(embeddings=embeddings)
    read = load_pairs(files, known_purpose, raters)
    choices = read_jury_pairs(read.pairs, by=by or (), min_raters=min_raters)
    make_model_folder(output)
    model = fit_pair_jury(choices, purpose=known_purpose, encoder=encoder)
    save_jury_model(model, output, "pairs of responses")


def evaluate_on_pairs(
    files: list[Path],
    *,
    raters: Path | None,
    by: list[str] | None,
    min_raters: int,
    embeddings: bool,
    folds: int,
    confidence: float,
    seed: int,
    format: Format | None,  # noqa: A002 - the option's name
    output: Path | None,
) -> None:
    """Measure predicted preferences on dialogues held out of training."""
    kind = result_writer.choose_format(format, output)
    encoder = load_encoder(embeddings=embeddings)
    read = load_pairs(files, infer_purpose(files), raters)
    with result_writer.progress_bar("Training") as progress:
        result = evaluate_pair_jury(
            read.pairs,
            by=by or (),
            min_raters=min_raters,
            n_folds=folds,
            encoder=encoder,
            confidence=confidence,
            seed=seed,
            progress=progress,
        )
    write_jury_result(result, jury_evaluation_page(result), kind, output)
