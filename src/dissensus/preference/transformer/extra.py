"""Check of the optional extra ``ml``."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from dissensus.errors import Unavailable


def check_installed(*more: str) -> None:
    """Refuse to go on without what transformers need, and more packages by their names."""
    for name in ("torch", "transformers", "tokenizers", "safetensors", *more):
        try:
            import_module(name)
        except ImportError:
            raise Unavailable(
                f"Transformers need {name}, which is not installed. Install it: pip install 'dissensus[ml]'"
            ) from None


def is_first_process() -> bool:
    """Tell whether this is the process that writes, of those that torchrun has started; true where it is the only one.

    Examples
    --------
    >>> is_first_process()
    True
    """
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Keep transformers from writing to the terminal meanwhile, of what they will change one day among other things."""
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
            warnings.filterwarnings("ignore", "Setting `save_embedding_layers`")  # as it is to be in a checkpoint
            yield
    finally:
        hub.set_verbosity(hub_level)
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
