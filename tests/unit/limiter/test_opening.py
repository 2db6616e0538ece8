# SPDX-License-Identifier: Apache-2.0
"""Addresses of backends."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.limiter.limits import Limits, checked
from truegreen.limiter.opening import opened


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://x", "file:relative", "memory:x", "file:"])
def test_an_address_that_names_no_backend_is_refused(url):
    """With the schemes that there are."""
    with pytest.raises(UsageProblem) as found:
        opened(url, checked(Limits(calls=1)))
    assert "limiter-backend-unknown" == found.value.code


def test_an_address_says_which_backend_it_is(tmp_path):
    """A folder may be written with three slashes too."""
    limits = checked(Limits(calls=1))
    names = []
    for url in ("memory:", f"file:{tmp_path}", f"file://{tmp_path}"):
        backend = opened(url, limits)
        names.append(backend.name)
        backend.close()
    assert ["memory", f"file:{tmp_path}", f"file:{tmp_path}"] == names
