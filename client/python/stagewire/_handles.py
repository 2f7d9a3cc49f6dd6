"""What is open: closed by `with`, by `close`, when nobody has it any more, or as the interpreter exits."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import weakref
from typing import Any, TypeVar

_opened = itertools.count()
_all: "weakref.WeakValueDictionary[int, Closing]" = weakref.WeakValueDictionary()


_Self = TypeVar("_Self", bound="Closing")


class Closing:
    """A context manager around a handle of the library, closed once, in the process that opened it."""

    _handle: Any = None

    def _opened(self, handle: Any) -> None:
        self._handle = handle
        self._process = os.getpid()
        self._number = next(_opened)
        _all[self._number] = self

    @property
    def handle(self) -> Any:
        """The library's handle; a RuntimeError once it is closed."""
        if self._handle is None:
            raise RuntimeError(f"this {type(self).__name__} is closed")
        return self._handle

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self._handle is None

    def _close(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Ends it; does nothing the second time, and in a child after a fork."""
        if self._handle is None:
            return
        try:
            if self._process == os.getpid():
                self._close()
        finally:
            self._handle = None
            _all.pop(self._number, None)

    def _close_at_exit(self) -> None:
        """For what others wait for. The rest may be in use by threads that live as long as the process."""

    def __del__(self, is_finalizing=sys.is_finalizing) -> None:
        if not is_finalizing():
            self.close()

    def __enter__(self: "_Self") -> "_Self":
        return self

    def __exit__(self, kind: Any, raised: Any, traceback: Any) -> None:
        self.close()


@atexit.register
def _close_all() -> None:
    # Who was opened last uses those who were opened before.
    for _, opened in sorted(_all.items(), reverse=True):
        opened._close_at_exit()
