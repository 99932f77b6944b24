"""`dissensus compile`: later commands find every kernel compiled."""

import subprocess
import sys

import pytest

LATER_COMMANDS = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from numba.core.dispatcher import Dispatcher
from dissensus.cli.compile import compile_kernels
from dissensus.files.ratings.partitions.reader import read_partitions
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.model import fit_model
from dissensus.pipeline.simulate.preferences import simulate_preferences
from dissensus.preference import collect_votes, train
from dissensus.report.builder import build
from dissensus.schema.ratings.table import Ratings
from tests.pipeline.tables import simulate_frame

def compiled():
    prefixes = ("dissensus.stats.", "dissensus.preference.")
    rooms = [vars(module) for name, module in sorted(sys.modules.items()) if name.startswith(prefixes)]
    return {kernel: list(kernel.signatures) for room in rooms for kernel in room.values()
            if isinstance(kernel, Dispatcher)}

compile_kernels()
before = compiled()
assert len(before) > 30
for share_rated in (1.0, 0.5):
    ratings = Ratings.from_frame(simulate_frame(3, share_rated=share_rated), questions="all")
    for level in ("nominal", "ordinal"):
        analyse(ratings, by=["race"], cross=["race*gender"], level=level, permutations=9, bootstrap=9)
build(ratings, permutations=9, bootstrap=9)
fit_model(ratings, "Q_overall ~ rater_gender + (1 | item_id) + (1 | rater_id)")
with TemporaryDirectory() as folder:
    simulate_frame(3, share_rated=0.5).write_parquet(Path(folder, "ratings.parquet"))
    partitions = read_partitions(folder, question="Q_overall")
    analyse(partitions, by=["race"], cross=["race*gender"], permutations=9, bootstrap=9)
votes = collect_votes(simulate_preferences(n_comparisons=60).preferences, purpose="helpful")
train(votes.pairs, purpose="helpful")
later = {str(kernel): found for kernel, found in compiled().items() if found != before.get(kernel)}
assert not later, later
"""


@pytest.mark.slow
def test_later_commands_compile_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", LATER_COMMANDS], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
