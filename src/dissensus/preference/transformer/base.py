"""Base model: network and tokeniser before training."""

from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from dissensus.errors import InvalidInput, NotFound
from dissensus.preference.transformer.extra import silence_warnings
from dissensus.preference.transformer.plan import MAX_LENGTH
from dissensus.preference.transformer.tokens import TokenReader
from dissensus.schema.hints import format_value

PAD: Final = "<|pad|>"
"""Added where a tokenizer has no token to fill up rows that is for this alone."""

ENOUGH: Final = 8
"""Fewest tokens that are worth reading, marks included."""


class BaseModel(NamedTuple):
    """A network with one output that is not trained yet, what makes its tokens, and both as other programs know them.

    The revision is that of the hub; None for a folder.
    """

    network: Any
    reader: TokenReader
    revision: str | None


def open_base(base: str, *, max_length: int | None = None) -> BaseModel:
    """Open a model to train from: safetensors alone, and never code that comes with it."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    if (base.startswith((".", "/", "~")) or base.count("/") > 1) and not Path(base).expanduser().is_dir():
        raise NotFound(f"There is no folder {format_value(base)}. Name one that holds a model, or a model of the hub.")
    place = str(Path(base).expanduser()) if Path(base).expanduser().is_dir() else base
    with silence_warnings():
        try:
            tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False)
            network = _network(AutoModelForSequenceClassification, place)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ImportError) as error:
            raise InvalidInput(_refused(base, error)) from None
        reader = _reader(base, network, tokenizer, max_length)
    return BaseModel(network, reader, getattr(network.config, "_commit_hash", None))


def _network(family: Any, place: str) -> Any:
    import torch

    return family.from_pretrained(
        place, num_labels=1, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
    )


def _refused(base: str, error: Exception) -> str:
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return (
        f"{format_value(base)} cannot be trained from: {first.rstrip('.')}. Name the folder of a model of the library "
        "transformers with its tokenizer and its weights as safetensors, or one of the hub that can be reached."
    )


def _reader(base: str, network: Any, tokenizer: Any, max_length: int | None) -> TokenReader:
    if not getattr(tokenizer, "is_fast", False):
        raise InvalidInput(
            f"{format_value(base)} has no tokenizer.json. Save its tokenizer as a fast one, and name that."
        )
    _pad(network, tokenizer)
    reads = plain_config(tokenizer.backend_tokenizer.to_str())
    begin, end = _marks(reads, tokenizer.eos_token_id)
    length = _max_length(base, network, tokenizer, max_length)
    return TokenReader(tokenizer=reads, begin=begin, end=end, pad=tokenizer.pad_token_id, max_length=length)


def plain_config(written: str) -> Any:
    """Return a tokenizer from JSON that takes all of a text, and as text what looks like a mark."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(written)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _pad(network: Any, tokenizer: Any) -> None:
    """Have a token that fills up rows and is nothing else: the score is read before the first of them."""
    others = (None, tokenizer.eos_token_id, tokenizer.unk_token_id, tokenizer.bos_token_id)
    if tokenizer.pad_token_id in others:
        tokenizer.add_special_tokens({"pad_token": PAD})
        if len(tokenizer) > network.get_input_embeddings().num_embeddings:
            network.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    network.config.get_text_config().pad_token_id = tokenizer.pad_token_id
    network.config.pad_token_id = tokenizer.pad_token_id


def _marks(tokenizer: Any, stop: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the marks that a tokenizer puts around a text, with that of the end in any case if there is one."""
    found = tokenizer.encode("a", add_special_tokens=True)
    marked = list(zip(found.ids, found.special_tokens_mask, strict=True))
    begin = tuple(token for token, _ in takewhile(lambda one: one[1], marked))
    end = tuple(token for token, _ in takewhile(lambda one: one[1], reversed(marked)))[::-1]
    return begin, end if stop is None or stop in end else (*end, stop)


def _max_length(base: str, network: Any, tokenizer: Any, asked: int | None) -> int:
    """Return how many tokens are read."""
    known = getattr(network.config.get_text_config(), "max_position_embeddings", None) or tokenizer.model_max_length
    most = min(known, tokenizer.model_max_length)
    length = min(MAX_LENGTH, most) if asked is None else asked
    if not ENOUGH <= length <= most:
        most_told = f"{most:,}" if most < 2**31 else "as many as you like"
        raise InvalidInput(f"max_length is {length:,}; {format_value(base)} reads from {ENOUGH} to {most_told} tokens.")
    return length
