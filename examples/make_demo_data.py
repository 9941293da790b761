"""Make the data of `maxmargin demo`: made-up short documents of two topics, as word weights.

Usage: python examples/make_demo_data.py src/maxmargin/cli/demo_data
"""

import sys
from pathlib import Path

import numpy as np
from scipy import sparse

import maxmargin

WORDS, TRAIN, TEST, PER_DOCUMENT = 2_000, 12_000, 3_000, 12

rng = np.random.default_rng(7)
n = TRAIN + TEST
frequency = 1.0 / np.arange(1, WORDS + 1)
leaning = rng.normal(size=WORDS) * (rng.random(WORDS) < 0.3)  # three words in ten belong to a topic

y = rng.choice([-1, 1], size=n)
words_of = {}
for topic in (-1, 1):
    likelihood = frequency * np.exp(0.8 * topic * leaning)
    words_of[topic] = likelihood / likelihood.sum()
documents = [np.unique(rng.choice(WORDS, size=PER_DOCUMENT, p=words_of[label])) for label in y]

indptr = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
indices = np.concatenate(documents)
rarity = np.log(n / np.maximum(np.bincount(indices, minlength=WORDS), 1))
X = sparse.csr_array((rarity[indices], indices, indptr), shape=(n, WORDS))
X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, indptr[:-1])), np.diff(indptr))
X.data = np.round(X.data, 3)

folder = Path(sys.argv[1])
maxmargin.write(folder / "topics.xz", X[:TRAIN], y[:TRAIN])
maxmargin.write(folder / "topics.t.xz", X[TRAIN:], y[TRAIN:])
