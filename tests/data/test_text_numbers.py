"""Numbers in text become the bits that Python's float() gives them."""

import math
import random
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maxmargin.data.text.read import read_text

finite = st.floats(allow_nan=False, allow_infinity=False)
LARGEST_DIGITS = 800


def values_read(folder, tokens):
    path = folder / "numbers.svm"
    path.write_text("".join(f"1 1:{token}\n" for token in tokens))
    rows, _ = read_text(path, threads=1)
    assert rows.values.size == len(tokens)
    return rows.values


def assert_bits_are_those_of_float(folder, tokens):
    tokens = [token for token in tokens if math.isfinite(float(token))]
    if tokens:
        expected = np.array([float(token) for token in tokens])
        differ = np.flatnonzero(values_read(folder, tokens).view(np.int64) != expected.view(np.int64))
        assert not differ.size, [tokens[k] for k in differ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("numbers")


@settings(max_examples=150, deadline=None)
@given(st.lists(finite, min_size=1, max_size=30))
def test_the_repr_of_any_float_reads_back(folder, numbers):
    assert_bits_are_those_of_float(folder, [repr(number) for number in numbers])


@settings(max_examples=150, deadline=None)
@given(st.lists(finite, min_size=1, max_size=10), st.integers(0, 40))
def test_fixed_and_exponent_forms_of_any_length(folder, numbers, places):
    forms = (f"%.{places}e", f"%.{places}f", f"%.{places}g", f"%+.{places}E")
    assert_bits_are_those_of_float(folder, [form % number for number in numbers for form in forms])


digits = st.text("0123456789", max_size=40)
numerals = st.builds(
    lambda sign, whole, point, fraction, e: sign + (whole or "0") + point + (fraction if point else "") + e,
    st.sampled_from(["", "+", "-"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(st.just(""), st.builds(lambda e, n: f"{e}{n}", st.sampled_from(["e", "E", "e+"]), st.integers(0, 350)),
              st.builds(lambda n: f"e-{n}", st.integers(0, 400))),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(numerals, min_size=1, max_size=30))
@example(["1e-400", "0e999999999999999999999", "-0", "-0.0", "0.0e-5", "1e-99999999999999999999999"])
@example(["4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308"])
@example(["1.7976931348623157e308", "1.7976931348623158e308", "179769313486231580793e289"])
@example(["9007199254740993", "9007199254740993.0", "9007199254740993.00000000000000000000000000001"])
@example(["00000000000000000000000000000000001.5", "0." + "0" * 60 + "1e61", "1" + "0" * 60 + "e-60"])
@example(["9223372036854775807", "9223372036854775808", "92233720368547758079999", "18446744073709551616"])
@example([".5", "5.", "+.5", "-5.e1", "1E5", "1e+05", "12345678", "123456789", "1234567.12345678"])
def test_any_digits_and_exponents(folder, tokens):
    assert_bits_are_those_of_float(folder, tokens)


def exactly(fraction):
    """A binary fraction in decimal, with all its digits."""
    power = fraction.denominator.bit_length() - 1
    whole = str(fraction.numerator * 5**power)
    return f"{whole}e-{power}"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 0x7FE << 52), min_size=1, max_size=5))
@example([1, 2, 1 << 52, (1 << 52) - 1, (0x7FF << 52) - 2, 0x3FF << 52])
def test_halfway_between_two_floats_and_a_hair_beside(folder, patterns):
    tokens = []
    for bits in patterns:
        a, b = struct.unpack("<2d", struct.pack("<2q", bits, bits + 1))
        whole, _, exponent = exactly((Fraction(a) + Fraction(b)) / 2).partition("e")
        tokens += [f"{whole}e{exponent}", f"{whole}.0001e{exponent}", f"{int(whole) - 1}.9999e{exponent}"]
        tokens += [f"{whole[:k]}{'0' * (len(whole) - k)}e{exponent}" for k in (17, 18, 19, 20) if k < len(whole)]
    assert_bits_are_those_of_float(folder, tokens)


def test_many_random_numbers_of_every_size(folder):
    pick = random.Random(7)
    bits = [pick.getrandbits(64) for _ in range(40_000)]
    numbers = [struct.unpack("<d", struct.pack("<Q", pattern))[0] for pattern in bits]
    tokens = [f"{number:.{pick.randrange(20)}e}" for number in numbers if math.isfinite(number)]
    assert_bits_are_those_of_float(folder, tokens)


def test_every_power_of_ten(folder):
    assert_bits_are_those_of_float(folder, [f"{m}e{q}" for q in range(-345, 309) for m in (1, 7, 17976931348623157)])


def test_thousands_of_digits(folder):
    tokens = [
        "0." + "3" * 5000,
        "1" * 300 + "." + "7" * 3000,
        "0." + "0" * 320 + "123456789" * 100,
        "9" * 5000 + "e-4800",
    ]
    assert_bits_are_those_of_float(folder, tokens)


def test_labels_are_read_as_exactly(folder):
    tokens = ["0.1", "9007199254740993", "-1e-310", "123456789012345678901234567890.5"]
    path = folder / "labels.svm"
    path.write_text("".join(f"{token} 1:1\n" for token in tokens))
    assert read_text(path)[1].tolist() == [float(token) for token in tokens]
