"""Child process: generate the data of a shape, or time a contender on it, and print the result as JSON."""

import json
import resource
import sys
import time
from importlib import import_module
from pathlib import Path

SECONDS, MOST_CALLS = 0.3, 50
"""Time after which no further call is made, and their largest number."""


def peak_mb() -> float:
    """Return the peak memory of this process in MB, without that of the one it was forked from."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def measure(name: str, path: Path) -> dict[str, object]:
    """Time a contender: import, first call, then calls for a while, at least one."""
    from contenders import CONTENDERS

    contender = CONTENDERS[name]
    begin = time.perf_counter()
    for module in contender.imports:
        import_module(module)
    imported = time.perf_counter() - begin
    call = contender.prepare(path)
    ready = peak_mb()
    begin = time.perf_counter()
    value = call()
    first = time.perf_counter() - begin
    seconds: list[float] = []
    while not seconds or (sum(seconds) < SECONDS and len(seconds) < MOST_CALLS):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return {
        "label": contender.label,
        "input": contender.input_form,
        "treatment": contender.treatment,
        "value": value,
        "import_s": imported,
        "first_s": first,
        "seconds": seconds,
        "ready_mb": ready,
        "peak_mb": peak_mb(),
    }


def make(shape: str, path: Path) -> dict[str, object]:
    from shapes import SHAPES

    SHAPES[shape](path)
    return {"bytes": path.stat().st_size}


if __name__ == "__main__":
    task, name, path = sys.argv[1:]
    print(json.dumps({"make": make, "measure": measure}[task](name, Path(path))))
