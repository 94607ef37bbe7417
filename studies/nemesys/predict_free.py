#!/usr/bin/env python3
"""Predicts table 6 and the speed-ups of machines/nemesys-4x4.toml by hand, from the counts of another machine.

    situ study run nemesys-fitted --only figure9,table6 --json fitted.json
    python3 studies/nemesys/predict_free.py fitted.json

How often a kernel loads, stores and copies depends on the program, not on the machine; how long these take depends on
the figures of the machine. So the counts of one machine and the figures of another give the times there:

  1. Without other traffic a load or store takes 70 cycles of a tile's adapter on both machines: table 2's sum.
  2. The wait for others is that of a closed queue (mean value analysis): `customers` tiles that each have one operation
     at a time, one server that is occupied `service` cycles an access. The time between two operations of a tile is
     the one that gives the wait counted on the first machine; with it the second machine's wait follows.
  3. An atomic is two accesses at the memory.
  4. A tile waits for all of its operations, so its time falls by what they fall in sum. The graph-copy unit keeps its
     own times (figure 8), and is slowed down by the share of the memory that others have.
"""
import json
import sys

TILES = 14
UNLOADED = 70.0  # cycles of 50 MHz: 1800 ns less the 400 ns of the L2
CYCLE_MS = 20e-6
BEFORE = {"occupancy": 27.0, "access": 27.0, "adapter": 5.0}  # nemesys-4x4-fitted.toml
AFTER = {"occupancy": 8.0, "access": 13.0, "adapter": 8.5}  # nemesys-4x4.toml
VARIANTS = ["NEMESYS-single", "Pegasus-single", "NEMESYS-twin", "Pegasus-twin"]


def round_trip(customers, service, between):
    """Cycles of an operation: exact mean value analysis of one queue and a delay."""
    queued = 0.0
    trip = UNLOADED
    for n in range(1, customers + 1):
        at_server = service * (1 + queued)
        trip = UNLOADED - service + at_server
        queued = n / (trip + between) * at_server
    return trip


def other_trip(counted, customers, before, after):
    """The round trip with the server `after`, of one that was counted with the server `before`."""
    if counted <= UNLOADED:
        return UNLOADED
    low, high = 0.0, 1e7
    if counted >= round_trip(customers, before, 0.0):
        return round_trip(customers, after, 0.0)
    for _ in range(200):
        middle = (low + high) / 2
        if round_trip(customers, before, middle) > counted:
            low = middle
        else:
            high = middle
    return round_trip(customers, after, low)


def atomic_unloaded(figures):
    """Cycles of an atomic alone: two accesses; packets of 4 + 8 and 8 bytes, 4 and 3 flits, over two hops."""
    return 4 * figures["adapter"] + 4 * 3 + 7 + 2 * figures["access"]


def predict(kernel):
    customers = TILES if kernel["memories"] == 1 else TILES // 2
    before, after = BEFORE["occupancy"], AFTER["occupancy"]
    load = other_trip(kernel["load"], customers, before, after)
    store = other_trip(kernel["store"], customers, before, after)
    ms, loads, stores, atomics = kernel["ms"], kernel["loads"], kernel["stores"], kernel["atomics"]
    busy = kernel["NA usage"] / 100 * ms / CYCLE_MS * TILES
    of_atomics = max(0.0, busy - loads * kernel["load"] - stores * kernel["store"])
    atomic = of_atomics / atomics if atomics else 0.0
    alone = atomic_unloaded(BEFORE)
    # The wait of an atomic falls as that of a load.
    falls = (load - UNLOADED) / (kernel["load"] - UNLOADED) if kernel["load"] > UNLOADED + 1 else after / before
    atomic_after = atomic_unloaded(AFTER) + max(0.0, atomic - alone) * falls
    busy_after = loads * load + stores * store + atomics * (atomic_after if atomics else 0.0)
    saved_ms = (busy - busy_after) * CYCLE_MS / TILES
    made = {"load": load, "store": store, "MEM accessed": kernel["MEM accessed"]}
    unit = kernel.get("NMA utilization", 0.0) / 100
    via_na = kernel.get("MEM via NA", kernel["MEM usage"]) / 100
    # The unit's waits: it finds the memory occupied by others for their share of the time.
    time, unit_ms = ms - saved_ms, unit * ms
    for _ in range(50):
        share = min(0.95, via_na * (after / before) * ms / time)
        unit_after = unit_ms * (1 - via_na) / (1 - share)
        time = max(ms - saved_ms - (unit_ms - unit_after), busy_after * CYCLE_MS / TILES, unit_after)
    made["ms"] = time
    made["NA usage"] = 100 * busy_after * CYCLE_MS / TILES / time
    made["bus load"] = kernel["bus load"] * ms / time
    made["MEM via NA"] = 100 * share
    made["MEM via NMA"] = kernel.get("MEM via NMA", 0.0) * ms / time
    made["MEM usage"] = made["MEM via NA"] + made["MEM via NMA"]
    made["NMA utilization"] = 100 * unit_after / time
    return made


def counted(study):
    """The kernels of each variant, by what the first machine counted."""
    part = next(p for p in study["parts"] if p["name"] == "table6")
    grids = {g["title"]: g for g in part["grids"]}
    operations = next(g for title, g in grids.items() if title.startswith("Remote loads"))
    found = {}
    for variant in VARIANTS:
        grid = grids[variant]
        kernels = {}
        for line in grid["lines"]:
            figures = {h.split(" [")[0]: float(cell.split(" (")[0]) for h, cell in zip(grid["headings"][1:], line[1:])}
            figures["memories"] = 2 if variant.endswith("twin") else 1
            kernels[line[0]] = figures
        at = operations["headings"].index(variant)
        for line in operations["lines"]:
            counts, ms = line[at].split("; ")
            thousands = [float(x) * 1e3 for x in counts.split(", ")]
            kernels[line[0]].update(zip(("loads", "stores", "atomics"), thousands))
            kernels[line[0]]["ms"] = float(ms)
        found[variant] = kernels
    return found


COLUMNS = ["bus load", "NA usage", "MEM usage", "MEM accessed", "MEM via NA", "MEM via NMA", "NMA utilization", "load",
           "store"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        before = counted(json.load(file))
    after = {variant: {k: predict(each) for k, each in kernels.items()} for variant, kernels in before.items()}
    print("| mean | " + " | ".join(COLUMNS) + " |\n| --- |" + " ---: |" * len(COLUMNS))
    for variant in VARIANTS:
        kernels = after[variant].values()
        print(f"| {variant} | " + " | ".join(f"{sum(k[c] for k in kernels) / len(kernels):.1f}" for c in COLUMNS) + " |")
    print("\n| kernel | Pegasus-single ms | NEMESYS-single ms | over Pegasus, single | twin | loads, Pegasus-single "
          "| NMA %, single |\n| --- |" + " ---: |" * 6)
    for k in after["Pegasus-single"]:
        p, n = after["Pegasus-single"][k], after["NEMESYS-single"][k]
        twin = after["Pegasus-twin"][k]["ms"] / after["NEMESYS-twin"][k]["ms"]
        print(f"| {k} | {p['ms']:.1f} | {n['ms']:.1f} | {p['ms'] / n['ms']:.2f} | {twin:.2f} | {p['load']:.0f} "
              f"| {n['NMA utilization']:.1f} |")


if __name__ == "__main__":
    main()
