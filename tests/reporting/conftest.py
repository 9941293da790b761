"""Reports are made once for all tests."""

from functools import cache

import pytest
from subjects import KINDS, report_of

made = cache(report_of)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def report(kind):
    return made(kind)


@pytest.fixture
def binary():
    return made("binary")


@pytest.fixture
def nasty():
    return made("nasty")
