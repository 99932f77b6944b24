"""Storage of transformers: safetensors and JSON, without code or pickles."""

import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from dissensus.errors import Unavailable
from dissensus.preference.data.pairs import PURPOSES
from dissensus.preference.transformer.base import MIN_LENGTH, load_plain_tokenizer
from dissensus.preference.transformer.encoder import TunedEncoder
from dissensus.preference.transformer.extra import check_installed, silence_warnings
from dissensus.preference.transformer.inference import pick_device
from dissensus.preference.transformer.model import Transformer
from dissensus.preference.transformer.tokens import TokenReader

CONFIG: Final = "config.json"
NETWORK: Final = "model.safetensors"
TOKENIZER: Final = "tokenizer.json"
NETWORK_FILES: Final = (CONFIG, NETWORK, TOKENIZER)

_NUMBERS: Final = ("length_alone", "temperature")


def transformer_header(model: Transformer) -> dict[str, Any]:
    """Return the plain values of a model for JSON, without network and tokenizer."""
    identity = {"schema_version": 1, "kind": "transformer", "purpose": model.purpose}
    tokens = token_reader_header(model.reader)
    return {**identity, **tokens, "bf16": model.bf16, **{name: getattr(model, name) for name in _NUMBERS}}


def token_reader_header(reader: TokenReader) -> dict[str, Any]:
    """Return the plain values of a tokeniser of conversations for JSON."""
    return {"begin": list(reader.begin), "end": list(reader.end), "pad": reader.pad, "max_length": reader.max_length}


def write_transformer(model: Transformer | TunedEncoder, folder: Path) -> None:
    """Write network and tokenizer, each file atomically."""
    try:
        with tempfile.TemporaryDirectory(prefix=".", dir=folder.resolve().parent) as part, silence_warnings():
            model.network.save_pretrained(part, max_shard_size="1000TB")  # one file
            model.reader.tokenizer.save(str(Path(part, TOKENIZER)))
            Path(part, NETWORK).chmod(Path(part, CONFIG).stat().st_mode)  # same readers as the other files
            for name in NETWORK_FILES:
                Path(part, name).replace(folder / name)
    except OSError as error:
        raise Unavailable(f"{folder} cannot be written: {error.strerror or error}. Name another folder.") from None


def check_description(header: dict[str, Any], card: object) -> None:
    """Refuse an unknown purpose, and a card that is not an object."""
    if header["purpose"] not in PURPOSES:
        raise ValueError(f"its purpose is {header['purpose']}")
    if not isinstance(card, dict):
        raise ValueError("its card is not a JSON object")


def read_transformer(header: dict[str, Any], card: dict[str, Any], folder: Path) -> Transformer:
    """Read a transformer whose checksums were verified."""
    if header["schema_version"] != 1 or header["kind"] != "transformer":
        raise ValueError(f"version {header['schema_version']} of kind {header['kind']} is not supported")
    check_description(header, card)
    check_installed()
    network = _network(folder)
    numbers = {name: float(header[name]) for name in _NUMBERS}
    if not np.isfinite(list(numbers.values())).all() or numbers["temperature"] <= 0:
        raise ValueError(f"invalid values: {numbers}")
    return Transformer(
        purpose=header["purpose"],
        network=network,
        reader=_reader(header, network, (folder / TOKENIZER).read_text(encoding="utf-8")),
        bf16=header["bf16"] is True,
        card=card,
        **numbers,
    )


def read_tuned_encoder(header: dict[str, Any], folder: Path) -> TunedEncoder:
    """Read the tuned encoder of a jury model, whose checksums were verified."""
    check_installed()
    network = _network(folder)
    reader = _reader(header, network, (folder / TOKENIZER).read_text(encoding="utf-8"))
    return TunedEncoder(network=network, reader=reader)


def _network(folder: Path) -> Any:
    """Return the network, with all weights read from its file."""
    import torch
    from transformers import AutoModelForSequenceClassification

    if '_implementation"' in (folder / CONFIG).read_text(encoding="utf-8"):
        raise ValueError("its configuration requires external code")  # never written by us
    with silence_warnings():
        try:
            network, loading = AutoModelForSequenceClassification.from_pretrained(
                str(folder),
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
            )
        except Exception as error:  # the library raises many kinds for a damaged configuration
            raise ValueError(str(error)) from None
    mismatched = [name for key in ("missing_keys", "unexpected_keys", "mismatched_keys") for name in loading[key]]
    if mismatched or network.config.num_labels != 1:
        raise ValueError("its weights do not match its configuration")
    return network.to(pick_device()).eval()


def _reader(header: dict[str, Any], network: Any, text: str) -> TokenReader:
    n_embeddings = network.get_input_embeddings().num_embeddings
    tokens = [*header["begin"], *header["end"], header["pad"]]
    if any(type(token) is not int or not 0 <= token < n_embeddings for token in tokens):
        raise ValueError(f"invalid special tokens: {tokens}")
    if type(header["max_length"]) is not int or header["max_length"] < max(MIN_LENGTH, len(tokens)):
        raise ValueError(f"invalid max_length: {header['max_length']}")
    try:
        tokenizer = load_plain_tokenizer(text)
    except Exception as error:  # the library raises nothing more specific
        raise ValueError(str(error)) from None
    if tokenizer.get_vocab_size() > n_embeddings:
        raise ValueError("its tokenizer has more tokens than its network")
    begin, end = tuple(header["begin"]), tuple(header["end"])
    return TokenReader(tokenizer=tokenizer, begin=begin, end=end, pad=header["pad"], max_length=header["max_length"])
