# SPDX-License-Identifier: Apache-2.0
"""The table of SDKs and providers: whole, shown by the documentation, and turned into a command's environment."""

from pathlib import Path

import pytest

from truegreen.guards import sdks
from truegreen.guards.sdks import STAND_IN, provider, table, variables

ROOT = Path(__file__).parents[3]
OPENAI, ANTHROPIC = provider("openai"), provider("anthropic")
ADDRESS = "http://127.0.0.1:4000"


def test_every_client_names_a_variable_of_its_provider():
    """Or says why none works."""
    wrong = [
        row.name
        for row in table().sdk
        if (
            row.variable not in provider(row.provider).variables
            if row.provider
            else row.variable or not row.note
        )
    ]
    assert [] == wrong


def test_ids_and_variables_are_given_once():
    """One variable points to one proxy."""
    names = [name for row in table().provider for name in row.variables]
    ids = [row.id for row in table().provider]
    assert (sorted(set(names)), sorted(set(ids))) == (sorted(names), sorted(ids))


def test_what_starts_by_itself_has_a_home():
    """Nothing is served at an address that nobody named."""
    assert ["openai", "anthropic"] == [row.id for row in table().provider if row.starts and row.home]
    assert [] == [row.id for row in table().provider if row.starts and not row.home]


def test_the_documentation_shows_both_tables():
    """As they are read."""
    page = (ROOT / "docs" / "sdks.md").read_text(encoding="utf-8")
    assert (True, True) == (sdks.page() in page, sdks.provider_page() in page)


def test_what_is_verified_is_run_by_a_test():
    """The programs of the tests are there for it, and every package has its first request."""
    folder = ROOT / "tests" / "sdks"
    programs = {path.name for path in (folder / "programs").iterdir()}
    assert {"openai_sdk.py", "anthropic_sdk.py", "openai_sdk.mjs", "plain_clients.py"} <= programs
    assert 4 == sum(row.run == "modes" for row in table().sdk)
    text = (folder / "test_variables.py").read_text(encoding="utf-8")
    asked = [row for row in table().sdk if row.run == "first-request"]
    assert [] == [row.name for row in asked if not row.package or f'"{row.name}":' not in text]


def test_an_unknown_provider_is_none():
    """Not the nearest one."""
    assert None is provider("open-ai")


def test_variables_point_to_the_proxies():
    """Whatever they pointed to before; what is not served stays as it was."""
    before = {
        "OPENAI_BASE_URL": "https://gateway.example/v1",
        "CO_API_URL": "https://co.example",
        "PATH": "/bin",
    }
    made = variables([(OPENAI, ADDRESS)], before, is_replay=False)
    assert {
        **before,
        "OPENAI_BASE_URL": ADDRESS,
        "OPENAI_API_BASE": ADDRESS,
        "MODEL_BASE_URL": ADDRESS,
    } == made


def test_in_replay_no_key_is_left():
    """Also of providers that are not served, and where there was none."""
    made = variables(
        [(ANTHROPIC, ADDRESS)], {"OPENAI_API_KEY": "sk-real", "GROQ_API_KEY": "real"}, is_replay=True
    )
    assert {STAND_IN} == {made[key] for row in table().provider for key in row.keys}
    assert ADDRESS == made["ANTHROPIC_BASE_URL"]


@pytest.mark.parametrize("name", sdks.HTTP_PROXIES)
def test_an_http_proxy_stays_out_of_a_replay(name):
    """It would stand between the command and ours; with live calls it is needed."""
    before = {name: "http://corp.example:3128"}
    assert name not in variables([], before, is_replay=True)
    assert "http://corp.example:3128" == variables([], before, is_replay=False)[name]
