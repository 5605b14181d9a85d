"""Samples that ship with the package."""
