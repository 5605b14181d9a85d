"""Schedulers of Big Data work: elastic allocations, and jobs that are stopped and resubmitted."""
