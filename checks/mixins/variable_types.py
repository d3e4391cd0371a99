"""Types of variables with a range: ReFrame refuses any other value when it loads the check."""

import math


class _LimitedType(type):
    """A metaclass of types that ReFrame checks values against.

    `isinstance` calls the type's `holds`; a call of the type converts a text by `kind`, and raises
    TypeError for an illegal value.
    """

    def __instancecheck__(cls, value):
        return cls.holds(value)

    def __call__(cls, text):
        try:
            value = cls.kind(text)
        except ValueError:
            value = None
        if not isinstance(value, cls):
            raise TypeError(f"right is {cls.description}")
        return value


def number_type(kind, minimum, maximum):
    """The type of a number of `kind`, int or float, from `minimum` to `maximum`."""

    def holds(value):
        kinds = (int, float) if kind is float else (int,)
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        return is_number and math.isfinite(value) and minimum <= value <= maximum

    name = "a number" if kind is float else "a whole number"
    description = f"{name} from {minimum:.12g} to {maximum:.12g}"
    return _LimitedType(
        "amount", (), {"kind": kind, "description": description, "holds": staticmethod(holds)}
    )


def choice_type(*legal, several=False):
    """The type of a text that is one of `legal`; with `several`, a list of them, with commas."""

    def holds(value):
        if not isinstance(value, str):
            return False
        parts = value.split(",") if several else [value]
        return set(parts) <= set(legal) and len(set(parts)) == len(parts)

    description = f"{'some' if several else 'one'} of: {', '.join(legal)}"
    return _LimitedType(
        "choice", (), {"kind": str, "description": description, "holds": staticmethod(holds)}
    )


#: Seconds that a launch may measure; a week at most.
BUDGET_TYPE = number_type(float, 0.001, 604800)
#: Relative half-width of an interval, percent.
PRECISION_TYPE = number_type(float, 0.001, 100)
#: Bytes of the largest message; its count is a C `int`.
MESSAGE_BYTES_TYPE = number_type(int, 1, 2**31 - 1)
#: Seconds after which a job is ended.
TIME_LIMIT_TYPE = number_type(int, 1, 604800)
