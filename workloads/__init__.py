"""Workloads as plain frozen data, their readers and generators. Imports no other room."""
