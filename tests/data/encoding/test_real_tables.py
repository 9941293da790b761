"""Real tables, where they are at hand: no column is taken for a leak, an id or a constant that is none."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maxmargin.data.encoding.frames import fit_to_frame
from maxmargin.data.encoding.request import Request
from maxmargin.data.files import Files

TABLES = Path(__file__).parents[4] / "shared" / "data" / "tables"
LABELS = {
    "credit_data": "Status", "lending_club": "Class", "mlc_churn": "churn", "stackoverflow": "Remote",
    "penguins": "species", "ames": "Sale_Price", "Chicago": "ridership",
}  # fmt: skip


@pytest.mark.skipif(not TABLES.is_dir(), reason=f"needs tables beside the repository, in {TABLES.name}")
@pytest.mark.parametrize("name", LABELS)
def test_no_column_of_a_real_table_is_suspected_or_left_out(name):
    encoder = Files(TABLES / f"{name}.csv", label=LABELS[name], request=Request()).encoder
    assert list(encoder.leaks) == []
    assert [column.name for column in encoder.columns if column.kind == "left out"] == []
    assert [column.name for column in encoder.columns if column.kind == "date"] == ["date"] * (name == "Chicago")


@pytest.mark.skipif(not TABLES.is_dir(), reason=f"needs tables beside the repository, in {TABLES.name}")
@pytest.mark.parametrize("name", LABELS)
def test_a_copy_of_the_label_in_a_real_table_is_found(name):
    table = pd.read_csv(TABLES / f"{name}.csv")
    label = table.pop(LABELS[name])
    copied = label * 3.0 + 7.0 if label.dtype.kind in "if" else label.map(lambda value: f"it is {value}")
    assert list(fit_to_frame(table.assign(copied=copied), label, Request()).leaks) == ["copied"]


@pytest.mark.parametrize("rare", [1, 2, 4])
def test_chance_is_no_leak_where_one_label_is_rare(rare):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 200)), columns=[f"c{k}" for k in range(200)])
    assert list(fit_to_frame(table, [1] * rare + [0] * (60 - rare), Request()).leaks) == []
