"""The model of a fleet: replicas of one server, each with a cache of its own, behind a balancer."""
