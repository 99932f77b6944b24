"""Small models with weights drawn at random, and tokenizers trained on a few words, to train from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

WORDS = "Human Assistant thirsty cold tea hat for you is it what I am so very much again and then yes no :"

WIDE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "initializer_range": 0.2}

LONGEST = 128


def bytes_of_words(*marks: str) -> Any:
    """Return a tokenizer of pairs of bytes, with marks."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(marks), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([WORDS] * 3, trainer)
    return tokenizer


def saved(folder: Path, family: str, tokenizer: Any, *, marks: dict[str, str], **settings: Any) -> str:
    """Write a model of a family without a head, and its tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

    from dissensus.preference.transformer.extra import silence_warnings

    torch.manual_seed(0)
    shape = {**WIDE, "max_position_embeddings": LONGEST, "vocab_size": tokenizer.get_vocab_size()}
    config = AutoConfig.for_model(family, bos_token_id=0, eos_token_id=0, **shape, **settings)
    with silence_warnings():
        AutoModel.from_config(config).save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks).save_pretrained(folder)
    return str(folder)


def gpt2(folder: Path) -> str:
    """Has a mark for the end and none to fill up rows, nor any that it puts around texts."""
    return saved(
        folder,
        "gpt2",
        bytes_of_words("<eos>"),
        marks={"eos_token": "<eos>"},
        attn_pdrop=0.0,
        embd_pdrop=0.0,
    )


def llama(folder: Path) -> str:
    """Begins texts with a mark, and fills up rows with that of the end."""
    from tokenizers.processors import TemplateProcessing

    tokenizer = bytes_of_words("<s>", "</s>")
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    marks = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    return saved(folder, "llama", tokenizer, marks=marks, intermediate_size=64)


def bert(folder: Path) -> str:
    """Reads both ways, puts marks around texts, and has none that is called the end."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from tokenizers.processors import TemplateProcessing

    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    words = [*marks.values(), *dict.fromkeys(WORDS.lower().split()), *"0123456789", *(f"##{n}" for n in range(10))]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return saved(
        folder,
        "bert",
        tokenizer,
        marks=marks,
        intermediate_size=64,
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
    )


BASES: dict[str, Callable[[Path], str]] = {"gpt2": gpt2, "llama": llama, "bert": bert}
