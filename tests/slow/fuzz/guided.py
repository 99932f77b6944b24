"""Coverage-guided fuzzing of one target: `python -m tests.slow.fuzz.guided NAME FOLDER -max_total_time=60 …`.

The options are those of libFuzzer. It ends with 0 if every input was read, or refused in words; otherwise it keeps the
input in the folder. `make fuzz` runs all targets. Each run takes other inputs, so it is not part of the tests.
"""

import sys
import warnings
from pathlib import Path

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

with atheris.instrument_imports(include=["dissensus.files", "dissensus.schema"], enable_loader_override=False):
    from tests.slow.fuzz.readers import SEEDS, find_target


def main() -> None:
    name, folder = sys.argv.pop(1), Path(sys.argv.pop(1)).resolve()
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        (corpus / f"seed-{number}").write_bytes(seed)
    warnings.simplefilter("error")
    limits = ("-max_len=256", "-timeout=20", f"-artifact_prefix={folder}/{name}-")
    atheris.Setup([sys.argv[0], str(corpus), *limits, *sys.argv[1:]], find_target(name, folder))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
