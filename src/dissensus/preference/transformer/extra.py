"""Optional extra ``ml``: its packages, processes and warnings."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from dissensus.errors import MissingExtra


def check_installed(*packages: str) -> None:
    """Raise an error if a package of the extra, or one of these packages, is not installed."""
    for name in ("torch", "transformers", "tokenizers", "safetensors", *packages):
        try:
            import_module(name)
        except ImportError:
            raise MissingExtra("A transformer", name, "ml") from None


def is_first_process() -> bool:
    """Return True in the process of rank 0 under torchrun, and in a single process.

    Examples
    --------
    >>> is_first_process()
    True
    """
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Silence logging, progress bars and deprecation warnings of transformers."""
    from huggingface_hub.utils import logging as hub
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    hub_level = hub.get_verbosity()
    hub.set_verbosity(hub.CRITICAL)
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.filterwarnings("ignore", "Setting `save_embedding_layers`")  # Intended in checkpoints
            yield
    finally:
        hub.set_verbosity(hub_level)
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
