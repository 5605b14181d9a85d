"""Reader of SimGrid platform files (XML versions 3, 4 and 4.1), with Batsim's roles and numbering.

Three passes, each of which knows one thing: ``xml_tree`` turns bytes into elements with line numbers and
refuses what is dangerous, ``zones`` turns elements into typed descriptions, ``numbering`` turns descriptions
into the numbered hosts of a ``Platform``. Links and routes are further fields of the descriptions.
"""

from batpy.platforms.simgrid.reader import read_simgrid

__all__ = ["read_simgrid"]
