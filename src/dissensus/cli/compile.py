"""`dissensus compile`: kernels compiled before the first command that needs them."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from dissensus.files.ratings.partitions.reader import read_partitions
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.model import fit_model
from dissensus.pipeline.simulate import preset, simulate
from dissensus.preference import Pair, train
from dissensus.report.builder import build
from dissensus.schema.records.conversation import Turn

REPLICATES, N_ITEMS, PER_ITEM, N_PAIRS = 5, 40, 20, 8


def compile_kernels() -> None:
    """Compile the kernels of analyses, reports and models, and keep them for all later commands.

    Otherwise the first command that needs a kernel compiles it, which takes a minute or two. `make setup` does
    this; after an installation with pip, run it once. Kernels are kept beside the package, or in NUMBA_CACHE_DIR. Rare
    options (--sampler gibbs, --details) compile kernels of their own when they are first used.

    Example: dissensus compile
    """
    campaign = preset("dices-350")
    campaign = replace(campaign, items=replace(campaign.items, count=N_ITEMS))
    simulations = [simulate(replace(campaign, per_item=per_item)) for per_item in (None, PER_ITEM)]
    complete, sparse = (simulation.ratings(questions="all") for simulation in simulations)
    for ratings in (complete, sparse):
        build(ratings, permutations=REPLICATES, bootstrap=REPLICATES)
        fit_model(ratings, "Q_overall ~ rater_race + (1 | item_id) + (1 | rater_id)")
    analyse(sparse, by=["race"], level="ordinal", permutations=REPLICATES, bootstrap=REPLICATES)
    with TemporaryDirectory() as folder:
        simulations[1].frame.write_parquet(Path(folder, "part-0.parquet"))
        partitions = read_partitions(folder, question="Q_overall")
        analyse(partitions, by=["race"], permutations=REPLICATES, bootstrap=REPLICATES)
    pairs = [Pair((Turn("human", f"Is {n} safe?"),), f"Yes, {n}.", f"No, not {n}.") for n in range(N_PAIRS)]
    train(pairs, purpose="harmless")
