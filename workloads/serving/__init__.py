"""ML serving: models, worker configurations and requests as plain data, and the readers of their files."""
