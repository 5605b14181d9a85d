"""How a ``stage_dag`` runs: one application on the hosts of its job, by list scheduling of its tasks.

Pure: applications do not disturb each other, so the whole schedule of one follows from its profile, its hosts
and the run's seed. ``engine`` computes it in one loop, ``load`` says what the loop is given, ``draws`` the
times of tasks, ``progress`` how far the schedule is at a date; ``model`` enters the end in the event queue;
``replay`` runs recorded applications again.
"""
