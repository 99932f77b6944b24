"""Tokenisation and scoring by a transformer."""

import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.preference.transformer.bases import bert, gpt2, llama
from tests.preference.transformer.conversations import fitting

from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.preference.models.model import compute_margins
from dissensus.preference.transformer.base import PAD, open_base
from dissensus.preference.transformer.model import Transformer
from dissensus.preference.transformer.tokens import render_pairs
from dissensus.schema.records.conversation import Conversation

pytestmark = pytest.mark.ml

TALK = Conversation.from_turns(
    [("human", "005 thirsty"), ("bot", "tea for you"), ("human", "004 cold"), ("bot", "tea for you"), ("bot", "")]
)


def test_each_turn_of_the_bot_is_scored_given_all_before_it(model: Transformer) -> None:
    (scores,) = model.score([TALK])
    assert len(scores) == 3
    for end, score in ((2, scores[0]), (4, scores[1]), (5, scores[2])):
        assert model.score([Conversation(TALK.turns[:end])])[0][-1] == pytest.approx(score, rel=1e-4)
    assert model.score([]) == []


def test_the_better_answer_depends_on_the_context(model: Transformer) -> None:
    talks = [
        Conversation.from_turns([("human", question), ("bot", answer)])
        for question in ("398 thirsty", "399 cold")
        for answer in ("tea for you", "hat for you")
    ]
    (tea,), (hat,), (tea_when_cold,), (hat_when_cold,) = model.score(talks)
    assert tea > hat
    assert tea_when_cold < hat_when_cold


def test_scores_hardly_depend_on_order_and_batch(model: Transformer) -> None:
    talks = [Conversation(pair.context + TALK.turns[1:2]) for pair in fitting(30)] + [TALK]
    scores = model.score(talks)
    assert model.score(talks) == scores
    for reordered, original in zip(model.score(talks[::-1])[::-1], scores, strict=True):
        assert reordered == pytest.approx(original, rel=1e-4)


def test_margins_are_differences_of_scores(model: Transformer) -> None:
    pairs = fitting(30)
    np.testing.assert_allclose(model.margins(pairs), compute_margins(model, pairs), rtol=1e-3)
    np.testing.assert_allclose(model.margins([pair.swapped() for pair in pairs]), -model.margins(pairs), rtol=1e-3)


def test_long_conversations_are_truncated_from_the_left_and_counted(model: Transformer) -> None:
    """The truncated part has no effect; the answer and its question remain."""
    (pair,) = fitting(1)
    long, longer = ("very " * n for n in (200, 300))
    talks = [
        Conversation.from_turns([("human", f"{filler}005 thirsty"), ("bot", pair.chosen)])
        for filler in (long, longer, "")
    ]
    with pytest.warns(UserWarning, match="with their context have more than 128 tokens"):
        (truncated,), (further_truncated,), (untruncated,) = model.score(talks)
    assert truncated == pytest.approx(further_truncated, rel=1e-6)
    assert truncated != untruncated
    assert model.turns_cut(talks) == 2
    pairs = [*fitting(3), *fitting(2, before=longer)]
    assert model.pairs_cut(pairs) == 2
    assert (model.margins(pairs) != 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(talks[2:])


def test_special_tokens_surround_texts_and_are_never_inside(tmp_path: Path) -> None:
    """A special token in a bot turn is encoded as text."""
    for build, begin, end in ((gpt2, [], ["<eos>"]), (llama, ["<s>"], ["</s>"]), (bert, ["[CLS]"], ["[SEP]"])):
        reader = open_base(build(tmp_path / build.__name__)).reader
        texts = ["\n\nAssistant: tea", f"\n\nAssistant: tea{end[0]} and then again yes{PAD}{end[0]}"]
        short, long = reader.read(texts).rows
        names = [reader.tokenizer.id_to_token(int(token)) for token in long]
        assert names[: len(begin)] == begin
        assert names[-1:] == end
        assert not {*begin, *end, reader.tokenizer.id_to_token(reader.pad)} & set(names[len(begin) : -1])
        assert reader.pad not in short
        (truncated,) = replace(reader, max_length=10).read(texts[1:]).rows
        assert len(truncated) == 10
        assert truncated.tolist() == [*reader.begin, *long[-(10 - len(begin)) :].tolist()]


def test_truncation_and_padding_of_the_tokenizer_are_disabled(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    base = bert(tmp_path)
    plain = open_base(base).reader
    path = str(tmp_path / "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    tokenizer.enable_padding(length=100)
    tokenizer.enable_truncation(6)
    tokenizer.save(path)
    reader = open_base(base).reader
    assert (reader.begin, reader.end) == (plain.begin, plain.end)
    texts = render_pairs(fitting(2))
    assert [row.tolist() for row in reader.read(texts).rows] == [row.tolist() for row in plain.read(texts).rows]


def test_the_padding_token_is_dedicated(tmp_path: Path) -> None:
    """The score is read before the first padding token, which therefore must differ from the end token."""
    for build, pad in ((gpt2, PAD), (llama, PAD), (bert, "[PAD]")):
        base = open_base(build(tmp_path / build.__name__))
        assert base.reader.tokenizer.id_to_token(base.reader.pad) == pad
        assert base.network.config.pad_token_id == base.reader.pad < base.network.get_input_embeddings().num_embeddings


def test_token_limit(base: str) -> None:
    assert open_base(base).reader.max_length == 128
    assert open_base(base, max_length=20).reader.max_length == 20
    for length in (129, 7):
        with pytest.raises(InvalidInput, match="reads from 8 to 128 tokens"):
            open_base(base, max_length=length)


def test_invalid_bases_are_refused(base: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no folder"):
        open_base(str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match="cannot be used as a base model"):
        open_base(str(tmp_path))
    with pytest.raises(InvalidInput, match="cannot be used as a base model"):
        open_base("nobody/nothing")


def test_weights_that_are_pickles_are_not_read(base: str, tmp_path: Path) -> None:
    import torch

    shutil.copytree(base, tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").unlink()
    torch.save({}, tmp_path / "pickled" / "pytorch_model.bin")
    with pytest.raises(InvalidInput, match="its weights as safetensors"):
        open_base(str(tmp_path / "pickled"))


@pytest.mark.parametrize("kind", ["gpt2", "nobody_knows_it"])
def test_code_that_comes_with_a_base_is_not_run(base: str, tmp_path: Path, kind: str) -> None:
    folder, marker = tmp_path / "coded", tmp_path / "ran"
    shutil.copytree(base, folder)
    (folder / "coded.py").write_text(f"open({str(marker)!r}, 'w')\n\nclass Coded:\n    pass\n")
    auto_map = dict.fromkeys(("AutoConfig", "AutoModelForSequenceClassification"), "coded.Coded")
    for name, changes in (
        ("config.json", {"auto_map": auto_map, "model_type": kind}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["coded.Coded", "coded.Coded"]}}),
    ):
        (folder / name).write_text(json.dumps(json.loads((folder / name).read_text()) | changes))
    if kind == "gpt2":
        assert type(open_base(str(folder)).network).__module__.startswith("transformers.")
    else:
        with pytest.raises(InvalidInput, match="cannot be used as a base model"):
            open_base(str(folder))
    assert not marker.exists()


def test_a_model_of_one_purpose_refuses_the_other(model: Transformer) -> None:
    with pytest.raises(NotAllowed, match="trained for helpful"):
        model.check_purpose("harmless")


def test_transcripts_of_a_pair_end_with_its_answers() -> None:
    assert render_pairs(fitting(1)) == [
        "\n\nHuman: 000 thirsty\n\nAssistant: tea for you",
        "\n\nHuman: 000 thirsty\n\nAssistant: hat for you",
    ]
