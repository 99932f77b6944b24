"""Base models: network and tokenizer to train from."""

from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from dissensus.errors import InvalidInput, NotFound
from dissensus.preference.transformer.extra import silence_warnings
from dissensus.preference.transformer.plan import MAX_LENGTH
from dissensus.preference.transformer.tokens import TokenReader
from dissensus.schema.hints import format_value

PAD: Final = "<|pad|>"
"""Padding token added to a tokenizer without a dedicated one."""

MIN_LENGTH: Final = 8
"""Smallest token limit, special tokens included."""


class BaseModel(NamedTuple):
    """Network with one output, its tokenizer, and its revision on the hub."""

    network: Any
    reader: TokenReader
    revision: str | None  # None for a folder


def find_folder(base: str) -> Path | None:
    """Return the folder that a base model names; None if there is none, as for models on the hub.

    Examples
    --------
    >>> find_folder("~no-such-user/model") is None
    True
    """
    try:
        folder = Path(base).expanduser()
    except RuntimeError:  # There is no such user
        return None
    return folder if folder.is_dir() else None


def name_base(base: str) -> str:
    """Return the name of a base model for a model card, without the path of its folder.

    Examples
    --------
    >>> name_base("org/model"), name_base(".") == Path.cwd().name
    ('org/model', True)
    """
    folder = find_folder(base)
    return base if folder is None else folder.absolute().name


def open_base(base: str, *, max_length: int | None = None) -> BaseModel:
    """Open a base model from safetensors, without executing code that comes with it."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = find_folder(base)
    if folder is None and (base.startswith((".", "/", "~")) or base.count("/") > 1):
        raise NotFound(f"There is no folder {format_value(base)}. Name one that holds a model, or a model on the hub.")
    location = base if folder is None else str(folder)
    with silence_warnings():
        try:
            tokenizer = AutoTokenizer.from_pretrained(location, trust_remote_code=False)
            network = _load_network(AutoModelForSequenceClassification, location)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ImportError) as error:
            raise InvalidInput(_describe_error(base, error)) from None
        reader = _build_reader(base, network, tokenizer, max_length)
    return BaseModel(network, reader, getattr(network.config, "_commit_hash", None))


def _load_network(family: Any, location: str) -> Any:
    import torch

    return family.from_pretrained(
        location, num_labels=1, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
    )


def _describe_error(base: str, error: Exception) -> str:
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return (
        f"{format_value(base)} cannot be used as a base model: {first.rstrip('.')}. Name the folder of a transformers "
        "model with its tokenizer and its weights as safetensors, or a reachable model on the hub."
    )


def _build_reader(base: str, network: Any, tokenizer: Any, max_length: int | None) -> TokenReader:
    if not getattr(tokenizer, "is_fast", False):
        raise InvalidInput(
            f"{format_value(base)} has no tokenizer.json. Save its tokenizer as a fast tokenizer, and name that folder."
        )
    _add_padding_token(network, tokenizer)
    plain = load_plain_tokenizer(tokenizer.backend_tokenizer.to_str())
    begin, end = _special_tokens(plain, tokenizer.eos_token_id)
    length = _max_length(base, network, tokenizer, max_length)
    return TokenReader(tokenizer=plain, begin=begin, end=end, pad=tokenizer.pad_token_id, max_length=length)


def load_plain_tokenizer(text: str) -> Any:
    """Return a tokenizer from JSON that neither truncates nor pads, and encodes special tokens in texts as text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _add_padding_token(network: Any, tokenizer: Any) -> None:
    """Ensure a dedicated padding token: the score is read before the first one."""
    shared = (None, tokenizer.eos_token_id, tokenizer.unk_token_id, tokenizer.bos_token_id)
    if tokenizer.pad_token_id in shared:
        tokenizer.add_special_tokens({"pad_token": PAD})
        if len(tokenizer) > network.get_input_embeddings().num_embeddings:
            network.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    network.config.get_text_config().pad_token_id = tokenizer.pad_token_id
    network.config.pad_token_id = tokenizer.pad_token_id


def _special_tokens(tokenizer: Any, eos: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the special tokens before and after a text, with the end-of-sequence token if there is one."""
    encoding = tokenizer.encode("a", add_special_tokens=True)
    tokens = list(zip(encoding.ids, encoding.special_tokens_mask, strict=True))
    begin = tuple(token for token, _ in takewhile(lambda pair: pair[1], tokens))
    end = tuple(token for token, _ in takewhile(lambda pair: pair[1], reversed(tokens)))[::-1]
    return begin, end if eos is None or eos in end else (*end, eos)


def _max_length(base: str, network: Any, tokenizer: Any, max_length: int | None) -> int:
    """Return the token limit."""
    positions = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    limit = min(positions or tokenizer.model_max_length, tokenizer.model_max_length)
    length = min(MAX_LENGTH, limit) if max_length is None else max_length
    if not MIN_LENGTH <= length <= limit:
        upper = f"{limit:,}" if limit < 2**31 else "any number of"
        raise InvalidInput(f"max_length is {length:,}; {format_value(base)} reads from {MIN_LENGTH} to {upper} tokens.")
    return length
