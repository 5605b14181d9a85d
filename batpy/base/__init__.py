"""Ground floor: error families and plug-in specifications.

Every room may import from here; this package imports nothing of ours and knows nothing of the field.
"""
