"""Experiments that are shipped: each compares what batpy simulates with what was published, in one command.

========== =======================================================================================
module     what it holds
========== =======================================================================================
study      ``Study``: a name, its parameters with their reasons, and what it runs; ``Check``, a figure
           beside its published band; ``Findings``
runs       ``RunSpec``: one ordinary run of batpy with its files; what is measured of it
pool       runs in several processes, with results in the order of the grid
campaign   a study carried out: runs, tables, figure
report     what is printed and written
figures    drawing, with matplotlib (an extra)
published  published figures, as the studies read them
catalogue  the names of all studies
========== =======================================================================================

A study adds nothing to the simulator: its runs are those of ``batpy run``, with journals that ``batpy audit``
takes. Seeds are streams of one seed, so results depend neither on the number of processes nor on their order.
"""
