"""A run's own folder for what memory has no room for, and for going on after an interruption.

Every file is written whole, and its name ends in a digest of its content under the run's key: what was cut
short, changed, or left by something else is not taken for ours. What is in it would let somebody check a
guess about the trace, so only its owner may look, and it goes when the run is done.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from keepwarm._abandoned import LOCK, NAMED, remove_abandoned
from keepwarm._errors import BudgetError, InputError, Interrupted
from keepwarm._resources import Resources, spill_folder

_CHUNK_BYTES = 1 << 20


class RunFolder:
    """The folder of one run, locked by it. ``found`` files of an earlier one are whole and may be used.

    ``has_answer``: all is computed, and what fails from here on, a full disk under a report say, loses none.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.has_answer = False
        self._key = key
        self._files: dict[str, Path] = {}
        for file in path.iterdir():
            named = NAMED.fullmatch(file.name)
            if named is not None:
                self._files[named["name"]] = file
            elif file.name != LOCK:
                _remove(file)  # cut short, or not ours

    @property
    def found(self) -> int:
        """Files that are there."""
        return len(self._files)

    def get(self, name: str) -> Path | None:
        """The file of that name; None if there is none, or it is not as it was written."""
        file = self._files.get(name)
        if file is None:
            return None
        with contextlib.suppress(OSError):
            if file.is_file() and file.name == f"{name}.{self._digest(file)}":
                return file
        self.drop(name)
        return None

    def path_of(self, name: str) -> Path:
        """The file that ``get`` or ``put`` gave under that name."""
        return self._files[name]

    def put(self, name: str, write: Callable[[BinaryIO], object]) -> Path:
        """What ``write`` writes, under ``name``, whole or not at all. Raises OSError: no room, say."""
        handle, temporary = tempfile.mkstemp(prefix="writing-", dir=self.path)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
            return self.adopt(name, Path(temporary))
        except BaseException:
            _remove(Path(temporary))
            raise

    def adopt(self, name: str, file: Path) -> Path:
        """Keep a finished file of this folder under ``name``. Raises OSError."""
        target = self.path / f"{name}.{self._digest(file)}"
        file.replace(target)
        self._files[name] = target
        return target

    def drop(self, name: str) -> None:
        """Remove the file of that name, if there is one."""
        file = self._files.pop(name, None)
        if file is not None:
            _remove(file)

    def scratch(self) -> BinaryIO:
        """An empty file without a name: it is gone when it is closed, however the run ends."""
        return tempfile.TemporaryFile(dir=self.path)

    def _digest(self, file: Path) -> str:
        digest = hashlib.blake2b(digest_size=20, key=self._key.encode()[:64])
        with file.open("rb") as source:
            while chunk := source.read(_CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()


@contextlib.contextmanager
def run_folder(resources: Resources, key: str) -> Iterator[RunFolder]:
    """The folder of the run that ``key``, a digest of all that decides its answer, names.

    It is removed at the end, unless the run was interrupted, ran out of disk or out of its budget, or its
    answer could not be shown. What runs have left beside it and nobody has used for days goes, too.

    Raises:
        InputError: the folder cannot be used, its disk is full, or another run has it.
        Interrupted: Ctrl-C; the same run goes on from what is there.
    """
    path = spill_folder(resources) / key
    lock = _locked(path)
    keep = False
    try:
        folder = RunFolder(path, key)
        remove_abandoned(path.parent)
        yield folder
    except KeyboardInterrupt:
        keep = True
        raise Interrupted(f"interrupted; the same command goes on from what is in {str(path)!r}") from None
    except BudgetError:
        keep = True
        raise
    except InputError:
        keep = folder.has_answer
        raise
    except OSError as error:
        keep = True
        raise InputError(
            f"cannot spill into {str(path)!r}: {error.strerror or error}; make room or name another folder "
            "with --spill, and the same command goes on"
        ) from error
    finally:
        if not keep:
            shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _locked(path: Path) -> int:
    """A descriptor that holds the folder's lock. Raises InputError: see ``run_folder``."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = path.lstat()
        if path.is_symlink() or info.st_uid != os.getuid():
            raise InputError(f"the folder {str(path)!r} is not yours; name another with --spill")
        path.chmod(0o700)
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputError(
            f"cannot spill into {str(path)!r}: {error.strerror or error}; name a folder with --spill"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.utime(lock)  # used now: see ``remove_abandoned``
        if (path / LOCK).stat().st_ino == os.fstat(lock).st_ino:  # not removed by the run that had it
            return lock
    except OSError:
        pass
    os.close(lock)
    raise InputError(
        f"another run of the same command has the folder {str(path)!r}; wait for it, or name another with "
        "--spill"
    )


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
