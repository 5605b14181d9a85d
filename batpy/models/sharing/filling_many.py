"""Progressive filling of large groups with numpy; the rules, and small groups, are in ``filling``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from batpy.models.sharing.filling import CLOSE, ENDLESS, ROUNDING, USED_UP, Crowd
from batpy.models.sharing.resources import Resources
from batpy.models.sharing.task import Task


def fill_many(
    tasks: Sequence[Task], resources: Resources, textbook: bool, crowds: Mapping[int, Crowd]
) -> list[float]:
    """The same as ``filling.fill``, of which this is the form for many tasks."""
    import numpy as np

    count = [len(task.coupled) for task in tasks]
    columns = list(zip(*chain.from_iterable(task.coupled.values() for task in tasks), strict=True))
    ids, pool = np.unique(np.array(columns[0]), return_inverse=True)
    largest, total, elements = (np.array(column, dtype=float) for column in columns[1:])
    owner = np.repeat(np.arange(len(tasks)), count)
    first = np.cumsum([0, *count[:-1]])
    capacity = np.array([resources.capacity[resource] for resource in ids.tolist()])
    fat = np.frombuffer(resources.fat, np.uint8)[ids] > 0
    any_fat = bool(fat.any())
    threshold = capacity * CLOSE if textbook else np.maximum(USED_UP, capacity * ROUNDING)
    limit = np.array([task.limit for task in tasks])
    almost = limit * (1.0 - CLOSE)
    rate, grown = np.zeros(len(tasks)), np.zeros(len(tasks))
    growing = np.ones(len(tasks), dtype=bool)
    left, still_open = capacity.copy(), np.ones(len(ids), dtype=bool)
    crowded = [(int(np.searchsorted(ids, resource)), crowd) for resource, crowd in crowds.items()]
    while growing.any() or any(crowd.live for _, crowd in crowded):
        live = np.bincount(pool, weights=elements * growing[owner], minlength=len(ids))
        for at, crowd in crowded:
            live[at] += crowd.live
        still_open &= live > 0
        live[fat | ~still_open] = 1.0
        share = left / live
        step = np.minimum.reduceat(share[pool] / largest, first)
        full = growing & (rate + step >= almost)
        if textbook:
            grown[:] = 0.0
        grown[growing] = step[growing]
        grown[full] = limit[full] - rate[full]
        rate = np.where(full, limit, np.where(growing, rate + step, rate))
        weights = total * grown[owner]
        charge = np.bincount(pool, weights=weights, minlength=len(ids))
        for at, crowd in crowded:
            if still_open[at]:
                charge[at] += crowd.grow(float(share[at]), textbook)
        frozen = full
        if any_fat:
            extreme = np.zeros(len(ids)) if textbook else share.copy()
            (np.maximum if textbook else np.minimum).at(extreme, pool, weights)
            charge = np.where(fat, extreme, charge)
        left = np.where(still_open, left - charge, left)
        closed = still_open & (left <= threshold)
        frozen[owner[closed[pool]]] = True
        for at, crowd in crowded:
            if closed[at]:
                crowd.live = 0
        if any_fat and not textbook:
            endless = still_open & fat & ~closed & (charge < ENDLESS * capacity)
            held_back = endless[pool] & (weights >= share[pool] * (1.0 - CLOSE))
            frozen[owner[held_back]] = True
        still_open &= ~closed
        growing &= ~frozen
    rates: list[float] = rate.tolist()
    return rates
