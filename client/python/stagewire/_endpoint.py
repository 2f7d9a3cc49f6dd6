"""An endpoint inside this process."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

from . import _abi
from ._calls import call, make, milliseconds, run, texts
from ._handles import Closing
from ._library import lib
from ._options import fill
from ._publisher import Publisher


class Endpoint(Closing):
    """Holds what its stage publishes, and serves it to everyone who pulls.

    Parameters
    ----------
    run_id : str
        The one run that it serves.
    listen : sequence of str
        ``"HOST:PORT"`` (port 0: any) or ``"unix:PATH"``.
    linger : float, optional
        Seconds for which `close` serves on what expected consumers still need; by default the drain grace.
    **options
        Of ``sw_endpoint_options`` in ``stagewire/endpoint.h``, times in seconds and without their ``_ms``:
        ``stage``, ``stage_count``, ``generation``, ``store_bytes``, ``metrics_bytes``, ``keep_steps``,
        ``publisher_grace``, ``tls_cert``, ``tls_key``, ``tls_ca``, ``access``, …

    Raises
    ------
    InvalidArgument
        Names the option or file that is wrong.
    Unavailable
        Names the address that cannot be bound.
    """

    def __init__(self, run_id: str, listen: Sequence[str] = ("127.0.0.1:0",), *, linger: Optional[float] = None,
                 **options: Any):
        if isinstance(listen, str):
            listen = (listen,)
        asked = fill(_abi.EndpointOptions(), lib.sw_endpoint_options_init_sized, {"run_id": run_id, **options})
        names = texts(listen)
        asked.listen, asked.listen_count = names, len(listen)
        self.run_id = run_id
        self._linger_ms = asked.drain_grace_ms if linger is None else int(linger * 1000)
        self._opened(make(lib.sw_endpoint_open, asked, destroy=_close_now))

    @property
    def publisher(self) -> Publisher:
        """Publishes straight into the endpoint's memory."""
        return Publisher(self, lib.sw_endpoint_publisher(self.handle))

    @property
    def addresses(self) -> List[str]:
        """The listeners, as a client may name them."""
        found: List[str] = []
        while (address := lib.sw_endpoint_address(self.handle, len(found))) is not None:
            found.append(address.decode())
        return found

    @property
    def address(self) -> str:
        """The first of `addresses`."""
        return self.addresses[0]

    def drain(self) -> None:
        """Refuses publishes, leases and waits from now on; what is held is still served."""
        lib.sw_endpoint_drain(self.handle)

    def wait_drained(self, timeout: float) -> None:
        """Waits until no expected consumer needs a held step, or the drain grace is over."""
        call(lib.sw_endpoint_wait_drained, self.handle, milliseconds(timeout))

    def _close_at_exit(self) -> None:
        self.close()

    def _close(self) -> None:
        run(lib.sw_endpoint_close, self._handle, self._linger_ms)


def _close_now(endpoint: Any) -> None:
    lib.sw_endpoint_close(endpoint, 0)
