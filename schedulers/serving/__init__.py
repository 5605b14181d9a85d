"""Controllers of ML serving: what runs on which GPU, in which batch, and which requests are refused."""
