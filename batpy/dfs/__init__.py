"""A model of a distributed file system: where blocks lie, who reads them from where, how long it takes.

Pure: no protocol, no clock, no process. Draws come from a generator that is passed in, a numpy ``Generator``
or a ``random.Random``; what is drawn is the same on every machine. This package itself imports nothing, so
that commands which use no DFS do not load numpy; ``locality`` and ``delay`` do without numpy as well.

========== =======================================================================================
module     what it holds
========== =======================================================================================
locality   ``Locality`` (process, node, rack, off-rack), its names in Spark's and Hadoop's logs, histograms
delay      ``DelayScheduling``, which offers of nodes a set of tasks takes: ``SkipCount`` (YARN) and ``Waits``
           (Spark); ``skips_for_locality``, the formula of EuroSys'10
drawing    ``words``: random 32-bit words that are the same everywhere
topology   ``Topology``: racks, node groups, upgrade domains and capacities of nodes
policies   ``POLICIES``: HDFS's placements and those of Firmament's simulator; ``input_blocks``, input sizes
placement  ``place``: replicas of many blocks at once, within the nodes' capacities
state      ``FileSystem``: files, blocks, replicas; create, delete, lose, decommission, read plans, repair
reading    ``read_plan``: nearest replicas for many reads at once, ties by load
repair     ``RepairPlan``: who copies what from where to where, and when, under a bandwidth cap
traffic    ``Traffic`` of a phase, a transfer matrix and bytes on disks; ``Rates``; the bottleneck
phases     the fine model: reads and writes of a phase over a job's nodes; ``parallel_profile`` of a traffic
coarse     ``CoarseModel``: fractions of bytes from near and far: presets, from logs, fitted to the fine model
storages   ``Storage``, one interface to ``FineDfs``, ``CoarseDfs`` and ``ParallelFileSystem``
========== =======================================================================================

Nodes are numbered from 0; times are seconds and amounts are bytes unless a name says otherwise.
"""
