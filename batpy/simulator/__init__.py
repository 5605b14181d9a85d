"""The platform process: applies decisions, advances time, emits events. A pure core, no socket, no file."""
