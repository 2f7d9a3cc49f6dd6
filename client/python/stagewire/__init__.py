"""Loss metrics and tensors from the pipeline stage that owns them to everyone who needs them.

`stagewire.pipeline_parallel` has the four operations that trainers know; `Client`, `Endpoint` and `Publisher` are for
more. Nothing that arrives is ever executed.
"""

from . import errors, pipeline_parallel
from ._address import Address
from ._client import Client, Exchanged, Item, Manifest
from ._endpoint import Endpoint
from ._environment import current, init, shutdown, step
from ._log_to import Bridge, log_to
from ._pipeline import Pipeline
from ._publisher import Lease, Policy, Publisher
from ._tensors import RawTensor
from ._values import Extension
from ._version import __version__
from ._watch import Event, Watch
from .errors import StagewireError

__all__ = ["Address", "Bridge", "Client", "Endpoint", "Event", "Exchanged", "Extension", "Item", "Lease", "Manifest",
           "Pipeline", "Policy", "Publisher", "RawTensor", "StagewireError", "Watch", "__version__", "current", "errors",
           "init", "log_to", "pipeline_parallel", "shutdown", "step"]
