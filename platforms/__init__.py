"""Platforms as plain frozen data, and their readers. Imports no other room."""
