"""Small base models with random weights, and tokenizers trained on a few words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

WORDS = "Human Assistant thirsty cold tea hat for you is it what I am so very much again and then yes no :"

WIDE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "initializer_range": 0.2}

MAX_POSITIONS = 128


def byte_pair_tokenizer(*special_tokens: str) -> Any:
    """Return a byte-pair tokenizer with special tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(special_tokens), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([WORDS] * 3, trainer)
    return tokenizer


def save_base(folder: Path, family: str, tokenizer: Any, *, marks: dict[str, str], **settings: Any) -> str:
    """Write a model of a family, without a head, and its tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

    from dissensus.preference.transformer.extra import silence_warnings

    torch.manual_seed(0)
    shape = {**WIDE, "max_position_embeddings": MAX_POSITIONS, "vocab_size": tokenizer.get_vocab_size()}
    config = AutoConfig.for_model(family, bos_token_id=0, eos_token_id=0, **shape, **settings)
    with silence_warnings():
        AutoModel.from_config(config).save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks).save_pretrained(folder)
    return str(folder)


def gpt2(folder: Path) -> str:
    """Write a base with an end token, and without padding token or template."""
    return save_base(
        folder,
        "gpt2",
        byte_pair_tokenizer("<eos>"),
        marks={"eos_token": "<eos>"},
        attn_pdrop=0.0,
        embd_pdrop=0.0,
    )


def llama(folder: Path) -> str:
    """Write a base with a start token, whose padding token is the end token."""
    from tokenizers.processors import TemplateProcessing

    tokenizer = byte_pair_tokenizer("<s>", "</s>")
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    marks = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    return save_base(folder, "llama", tokenizer, marks=marks, intermediate_size=64)


def bert(folder: Path) -> str:
    """Write a bidirectional base with special tokens around texts, and without an end token."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from tokenizers.processors import TemplateProcessing

    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    words = [*marks.values(), *dict.fromkeys(WORDS.lower().split()), *"0123456789", *(f"##{n}" for n in range(10))]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return save_base(
        folder,
        "bert",
        tokenizer,
        marks=marks,
        intermediate_size=64,
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
    )


BASES: dict[str, Callable[[Path], str]] = {"gpt2": gpt2, "llama": llama, "bert": bert}
