"""What runs in the processes of an engine."""

import ctypes
import os
import signal
import tempfile
from pathlib import Path

from befit import _befit

PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Ends this process when its parent ends, even if that is killed: a pool's workers would wait
    for work for ever."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent goes on when Ctrl-C is pressed, and says what is kept.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def folder() -> Path:
    """Where recordings are kept that came over the network."""
    return Path(tempfile.gettempdir()) / f"befit-recordings-{os.getuid()}"


def run(
    batch: bytes, threads: int = 1, hash: str | None = None, data: bytes | None = None
) -> tuple[bytes, float, str | None]:
    """Simulates a batch on so many threads; `data` is the recording of this hash, where the client
    has sent it."""
    if hash is not None and data is not None:
        keep(hash, data)
    return _befit.run_batch(batch, folder(), threads)


def keep(hash: str, data: bytes) -> None:
    """Keeps a recording, which appears whole or not at all."""
    path = folder() / f"{hash}.befit"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
