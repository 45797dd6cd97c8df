"""Measures the same library in Go and in its peers, in turn, in one process.

measure.py NAME=PATH ... loads each library from its file or folder, checks that all give the
same results, then times every call: the peers take turns, and a figure is the median of the
rounds, each of which is the best of its batches. measure.py -import NAME=PATH ... measures
what importing each adds to a Python process. With -check, nothing is timed. The output is a
table in Markdown.
"""

import importlib
import sys
import time
from pathlib import Path

ROUNDS, BATCHES, SECONDS = 15, 3, 0.004


def load(path):
    """Imports a library: a package, a module, or an extension module whose name is ledger."""
    path = Path(path)
    if path.is_dir():
        sys.path.insert(0, str(path.parent))
        if (path / "_ledger.py").exists() or any(path.glob("_ledger.*.so")):  # gopy
            return importlib.import_module(path.name + ".ledger")
        return importlib.import_module(path.name)
    from importlib import util

    spec = util.spec_from_file_location("ledger", path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def calls(lib, name):
    """Returns the calls that are measured, by row. None stands for what the peer cannot do."""
    import numpy as np

    xs = np.ones(4096, dtype=np.float32)
    values = [float(i) for i in range(100)]
    text = "the quick brown fox jumps over the lazy dog " * 2
    word = "word"
    new = getattr(lib, "Counter", None)
    counter = lib.new_counter() if name == "gopy" else new()

    def construct():
        p = lib.Point(3.0, 4.0)
        if name == "gopy":  # whose constructor ignores them once fields have Python's names
            p.x, p.y = 3.0, 4.0
        return p

    point = construct()

    def attribute():
        return point.x

    def failing():
        try:
            lib.parse("x1")
        except Exception:  # gopy and the others raise different classes
            pass

    rows = {
        "add(1, 2)": lambda: lib.add(1, 2),
        "greet(str)": lambda: lib.greet("someone"),
        "mean(list of 100 floats)": lambda: lib.mean(values),
        "split(str) into 18": lambda: lib.split(text, " "),
        "count_words(str)": lambda: lib.count_words(text),
        "div_mod(7, 2), two results": lambda: lib.div_mod(7, 2),
        "parse(str) fails": failing,
        "apply(callback, 1)": lambda: lib.apply(lambda x: x + 1, 1),
        "sum(array of 4096 float32)": lambda: lib.sum(xs),
        "Point(3, 4)": construct,
        "point.x": attribute,
        "point.norm()": point.norm,
        "counter.add(str)": lambda: counter.add(word),
    }
    expected = {
        "add(1, 2)": 3, "greet(str)": "hello, someone", "mean(list of 100 floats)": 49.5, "div_mod(7, 2), two results": (3, 1),
        "apply(callback, 1)": 2, "sum(array of 4096 float32)": 4096.0, "point.x": 3.0, "point.norm()": 5.0,
    }
    for row, f in list(rows.items()):
        try:
            got = f()
        except Exception as e:
            print(f"# {name} cannot {row}: {type(e).__name__}: {str(e)[:100]}", file=sys.stderr)
            rows[row] = None
            continue
        if row in expected and (tuple(got) if row.startswith("div") else got) != expected[row]:
            raise SystemExit(f"{name}: {row} gave {got!r}, want {expected[row]!r}")
    return rows


def batch(f, n):
    r = range(n)
    begin = time.perf_counter()
    for _ in r:
        f()
    return (time.perf_counter() - begin) / n


def measure(libs):
    import statistics

    table = {}
    tables = {name: calls(lib, name) for name, lib in libs.items()}
    for row in next(iter(tables.values())):
        count = {name: max(1, int(SECONDS / batch(t[row], 20))) for name, t in tables.items() if t[row]}
        rounds = {name: [] for name in count}
        for _ in range(ROUNDS):
            best = {name: float("inf") for name in count}
            for _ in range(BATCHES):
                for name, n in count.items():
                    best[name] = min(best[name], batch(tables[name][row], n))
            for name, t in best.items():
                rounds[name].append(t)
        table[row] = {name: statistics.median(r) * 1e9 for name, r in rounds.items()}
    return table


def show(table, names):
    print("| call, ns | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for row, cells in table.items():
        print(f"| {row} | " + " | ".join(f"{cells[n]:,.0f}" if n in cells else "cannot" for n in names) + " |")


def imports(paths):
    """Measures processes that import a library, in turn, over a process that imports nothing."""
    import statistics
    import subprocess

    programs = {"nothing": "", "tvm_ffi": "import tvm_ffi"}
    for name, path in paths.items():
        programs[name] = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import measure; measure.load({path!r})"
    times = {name: [] for name in programs}
    for _ in range(21):
        for name, program in programs.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            times[name].append(time.perf_counter() - begin)
    base = statistics.median(times["nothing"])
    for name, t in times.items():
        print(f"| {name} | {(statistics.median(t) - base) * 1e3:.1f} ms |")


if __name__ == "__main__":
    named = dict(a.split("=", 1) for a in sys.argv[1:] if "=" in a)
    if "-import" in sys.argv:
        imports(named)
    elif "-check" in sys.argv:
        for n, p in named.items():
            done = sum(f is not None for f in calls(load(p), n).values())
            print(f"{n}: {done} calls with the same results")
    else:
        show(measure({n: load(p) for n, p in named.items()}), list(named))
