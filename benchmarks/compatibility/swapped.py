"""A pytest plugin: maxmargin's estimators take the place of scikit-learn's in `sklearn.svm`, in this process only."""

import sklearn.svm

import maxmargin

NAMES = ("LinearSVC", "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")

for name in NAMES:
    setattr(sklearn.svm, name, getattr(maxmargin, name))
