"""Schedulers for rigid parallel jobs."""
