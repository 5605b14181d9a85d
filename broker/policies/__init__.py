"""Shipped sharing policies, one file each."""
