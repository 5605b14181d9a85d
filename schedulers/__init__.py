"""Schedulers: a small API, and algorithms over read-only views. Learns everything from the protocol."""
