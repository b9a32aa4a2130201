"""Which hosts are this machine alone: a key may go there in the clear, and nobody else comes from there."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether ``host``, a name or an address (IPv6 with or without brackets), is this machine and no other.

    Of names only ``localhost``: others, ``x.localhost`` among them, are what a resolver makes of them.
    """
    name = host.removeprefix("[").removesuffix("]")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.lower() == "localhost"
