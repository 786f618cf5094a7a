"""Workers of Dask: processes of this computer with bounded memory, or
those of a running scheduler.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stribeck.experiments.fleet.storage import needs_extra
from stribeck.experiments.threads import ONE_THREAD
from stribeck.ident.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

# workers that a task may end before it is tried alone, and then again before it is given up
KILLS = 2
_WAIT = 60.0  # s; for the first worker
_LEAST = 300_000_000  # bytes; a worker needs about as much to import stribeck
# one thread; and not Dask's trim threshold of 64 KB, with which a fit takes 1.6 times as long
_ENVIRONMENT = {
    **ONE_THREAD,
    "MALLOC_TRIM_THRESHOLD_": 1 << 26,
    "MALLOC_MMAP_THRESHOLD_": 1 << 25,
}
_SETTINGS = {
    "distributed.scheduler.allowed-failures": KILLS - 1,
    # no task waits on a worker that another one may end
    "distributed.scheduler.worker-saturation": 1.0,
    # no pages, no port to take
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.nanny.pre-spawn-environ": _ENVIRONMENT,
    # results are small
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
}


def memory_limit(memory: str) -> int:
    """Return a limit such as ``1GB`` in bytes; errors as in `local_workers`."""
    try:
        from dask.utils import parse_bytes
    except ImportError as error:
        raise needs_extra(error) from None
    try:
        limit = int(parse_bytes(memory))
    except ValueError:
        limit = 0
    if limit < _LEAST:
        raise InputError(
            f"--worker-memory {memory!r} is no size of at least {_LEAST // 10**6} MB; give for "
            "example 1GB"
        )
    return limit


@contextmanager
def local_workers(count: int, memory: str) -> Iterator["Client"]:
    """Start worker processes of one thread each, and yield their client; BLAS
    has one thread in each, too.

    Parameters
    ----------
    count : int
        Number of processes.
    memory : str
        Limit for each, such as ``1GB``; a process that exceeds it is ended and started again.

    Raises
    ------
    InputError
        If `memory` is no size, or Dask is not installed.
    """
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise needs_extra(error) from None
    limit = memory_limit(memory)
    # what fails is named at the end
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        config.set(_SETTINGS),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            memory_limit=limit,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            security=True,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def workers_of(address: str) -> Iterator["Client"]:
    """Connect to a running scheduler, and yield the client.

    Raises
    ------
    InputError
        If there is no scheduler, it has no worker, or Dask is not installed.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise needs_extra(error) from None
    try:
        client = Client(address, timeout=_WAIT / 6.0)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--scheduler {address!r}: no Dask scheduler answers there; start dask scheduler, and "
            "give its address, for example tcp://host:8786"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_WAIT)
        except TimeoutError:
            raise InputError(
                f"--scheduler {address!r} has no worker; start some with dask worker {address} "
                "--nthreads 1"
            ) from None
        yield client


def on_worker(order: Any, task: Any) -> Any:
    """Call an order in a worker; temporary copies go to the worker's own folder, which
    Dask cleans up after a kill.
    """
    from distributed import get_worker

    return order(task, get_worker().local_directory)
