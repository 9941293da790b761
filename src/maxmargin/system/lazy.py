"""A property that is computed when it is first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 (used as a decorator, like property)
    """Like functools.cached_property, without the lock it has in Python 3.11, which takes longer than many values.

    The value is stored in the instance under the name of the property. Two threads may both compute it.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function, self.name, self.__doc__ = function, function.__name__, function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        """Compute the value, and store it: the next read finds it in the instance."""
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.function(instance)
        return value
