"""Policies for pipelines in containers, with Eudoxia's decorators; they import nothing of the simulator."""
