"""Pipelines in containers as data: segments, operators, parameters, traces, and the random generator."""
