"""Finds and loads libstagewire."""

from __future__ import annotations

import ctypes
import os

from . import _abi
from ._version import __version__

NAME = "libstagewire.so.0"


def _candidates():
    chosen = os.environ.get("STAGEWIRE_LIBRARY")
    if chosen:
        return [chosen]
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)
    return [beside, NAME] if os.path.exists(beside) else [NAME]


def _open():
    reasons = []
    for candidate in _candidates():
        try:
            return candidate, ctypes.CDLL(candidate)
        except OSError as error:
            reasons.append(f"{candidate}: {error}")
    raise ImportError(
        "stagewire needs its C library and could not load it: " + "; ".join(reasons) + f". Install the package "
        f"libstagewire0, put {NAME} beside the Python package, or set STAGEWIRE_LIBRARY to its path.")


def _check_version(path, library):
    try:
        library.sw_version.restype = ctypes.c_char_p
    except AttributeError:
        raise ImportError(f"{path} is no library of stagewire's; set STAGEWIRE_LIBRARY to one that is.") from None
    found = library.sw_version().decode()
    if found.split(".")[:2] != __version__.split(".")[:2]:
        raise ImportError(f"the Python package stagewire is {__version__}, and the library {path} is {found}: "
                          "install both of one version, or set STAGEWIRE_LIBRARY to the path of another one.")


def _declare(path, library):
    for name, (result, *arguments) in _abi.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} lacks {name}: it is older than the Python package stagewire "
                              f"{__version__}; install both of one version.") from None
        function.restype = result
        function.argtypes = arguments


def load() -> ctypes.CDLL:
    """The library, with every function of `_abi.FUNCTIONS` declared.

    Raises
    ------
    ImportError
        If there is none, or one of another version; the message says where it was looked for.
    """
    path, library = _open()
    _check_version(path, library)
    _declare(path, library)
    return library


lib = load()
