"""Routes through nested zones, found when asked for; memory is linear in hosts, links and given routes.

``links`` holds who owns which link index, ``zones`` and its neighbours find the way inside one zone (a table,
a shortest path, coordinates, a cluster and its topologies), ``network`` joins these ways across zones.
"""
