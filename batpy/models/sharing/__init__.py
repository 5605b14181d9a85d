"""Parallel tasks that share hosts and links: SimGrid's L07 model with its fair bottleneck. Knows no job.

``resources`` holds capacities, ``work`` what a task asks of them, ``engine`` moves the tasks, ``filling`` and
``star`` compute rates, in general and for many tasks on one link.
"""
