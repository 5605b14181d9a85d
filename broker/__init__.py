"""The broker: several schedulers on one park.

To the simulator it is a scheduler, to each scheduler a simulator.
"""
