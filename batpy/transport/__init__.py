"""Ways for a message to reach a peer: in process, or over ZeroMQ (the only place that imports ``zmq``)."""
