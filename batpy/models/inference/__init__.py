"""The emulated GPU worker: Clockwork's worker API without a GPU, as a pure core on integer nanoseconds."""
