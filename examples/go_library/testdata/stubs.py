"""FFI API bindings for golib."""

# tvm-ffi-stubgen(begin): import-section
# fmt: off
# isort: off
from __future__ import annotations
from tvm_ffi import init_ffi_api as _FFI_INIT_FUNC
from tvm_ffi.libinfo import load_lib_module as _FFI_LOAD_LIB
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from tvm_ffi import Tensor
    from typing import Any, Callable
# isort: on
# fmt: on
# tvm-ffi-stubgen(end)
# tvm-ffi-stubgen(import-object): tvm_ffi.libinfo.load_lib_module;False;_FFI_LOAD_LIB
LIB = _FFI_LOAD_LIB("golib", "golib")
# tvm-ffi-stubgen(begin): global/golib
# fmt: off
_FFI_INIT_FUNC("golib", __name__)
if TYPE_CHECKING:
    def add(_0: int, _1: int, /) -> int: ...
    def adder(_0: int, /) -> Callable[[int], int]: ...
    def apply(_0: Callable[[int], int], _1: int, /) -> int: ...
    def doubled(_0: Tensor, /) -> Tensor: ...
    def echo(_0: Any, /) -> Any: ...
    def env(_0: str, /) -> str: ...
    def fail(_0: str, _1: str, /) -> None: ...
    def greet(_0: str, /) -> str: ...
    def join(*args: Any) -> Any: ...
    def parallel(_0: Callable[[int], int], _1: int, /) -> int: ...
    def poll(_0: int, /) -> None: ...
    def reversed(_0: bytes, _1: int | None, /) -> bytes: ...
    def sleep(_0: int, /) -> None: ...
    def sum(_0: Tensor, /) -> float: ...
    def word_count(_0: Sequence[str], /) -> Mapping[str, int]: ...
# fmt: on
# tvm-ffi-stubgen(end)

__all__ = [
    # tvm-ffi-stubgen(begin): __all__
    "LIB",
    "add",
    "adder",
    "apply",
    "doubled",
    "echo",
    "env",
    "fail",
    "greet",
    "join",
    "parallel",
    "poll",
    "reversed",
    "sleep",
    "sum",
    "word_count",
    # tvm-ffi-stubgen(end)
]
