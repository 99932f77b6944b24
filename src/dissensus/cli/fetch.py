"""`dissensus fetch`: download of public data sets, with checksums."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli.result_writer import progress_bar

if TYPE_CHECKING:
    from dissensus.files.catalogue import Dataset
    from dissensus.files.fetch import Fetched


def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="dices-350, dices-990, hh-rlhf or red-team.")],
    to: Annotated[
        Path | None, typer.Option("-o", "--to", metavar="DIR", help="Folder for the files. Default: data/NAME.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="PATTERN", help='Files whose path matches, such as "helpful-base/*".')
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="URL of a folder with the same files, to download from instead.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files whose checksum is wrong.")] = False,
) -> None:
    """Download a public data set from its authors, and check it.

    Its licence and a content warning come first: these texts are adversarial and may offend.

    Interrupted downloads are resumed, and correct files are kept. The paths of the files are printed.

    Example: dissensus fetch dices-350
    """
    # Imported here, so that --help does not import an HTTP client.
    from dissensus.files.catalogue import load_dataset
    from dissensus.files.fetch import fetch as run

    dataset = load_dataset(name)
    folder = Path("data", name) if to is None else to
    _print_dataset(dataset, mirror)
    with progress_bar("Fetching") as progress:
        files = run(dataset, folder, only=only, mirror=mirror, force=force, progress=progress)
    for file in files:
        typer.echo(f"{file.path.relative_to(folder)}: {_describe_file(file)}.", err=True)
    for file in files:
        typer.echo(file.path)


def _print_dataset(dataset: "Dataset", mirror: str | None) -> None:
    lines = [
        f"{dataset.title} ({dataset.paper})",
        f"Licence: {dataset.licence}",
        f"From: {dataset.base}" + (", by way of a mirror" if mirror else ""),
        f"Content warning: {dataset.warning}",
    ]
    typer.echo("\n".join(lines), err=True)


def _describe_file(file: "Fetched") -> str:
    from dissensus.files.fetch import RECORD

    outcome = "downloaded" if file.downloaded else "already there"
    checks = {
        "catalogue": "SHA-256 is the known one",
        "record": f"SHA-256 is the one recorded in {RECORD}",
        None: f"SHA-256 was not known; recorded in {RECORD}, to compare with from now on",
    }
    return f"{outcome}, {file.size:,} bytes, {checks[file.checked_against]}"
