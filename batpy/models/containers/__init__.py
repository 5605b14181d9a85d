"""Pipelines in containers: pools, containers, suspension, out-of-memory, time limits; Eudoxia's rules.

``compat = "eudoxia"`` keeps the original's behaviour (commit c62122c) to the bit. Without it these faults are
repaired, each with a test in ``tests/unit/test_pipelines_repairs.py``:

- An operator without a tick takes one; one whose last segment has none ends with the last that it has.
- A suspension takes one tick at least; one of 0 ticks would keep its resources for ever.
- Memory of a suspended container is given back; it would count until some container ended in that pool.
- A pipeline is finished in the tick in which it is complete, not in the next one in which a container ends.
- Another pipeline under a used name is a pipeline of its own; it would take the earlier one's place.
- An order for a pool that does not exist is refused; it would be ignored.
- ``priority`` and ``priority-pool`` do not lose a job whose suspension took one tick, nor a retry that does
  not fit now; a retry is never smaller than what failed, and given up only after the whole memory of a pool.
- ``priority-pool`` keeps to single operators where ``multi_operator_containers`` is false; it would abort.
- A run in which no container ended has statistics; it would break off.
- A mix of priorities may miss 1 by rounding; unknown parameters are told.
- ``cpu_io_ratio`` has an effect on the random workload.
- A written trace replays as the run it came from; float noise would move some arrivals by a tick.

In both modes: the memory means are part of ``to_dict()``, the workloads of ``sensitivity-sample`` differ, ids
of operators are the same in every run, and containers are counted from 1 in each.
"""
