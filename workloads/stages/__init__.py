"""Big Data applications as stage graphs: importers of logs and traces, and job models made from them."""
