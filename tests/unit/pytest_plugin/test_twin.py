# SPDX-License-Identifier: Apache-2.0
"""A sample meets nothing that an earlier sample left, in any engine that keeps its process."""

import pytest

FRESH = """
    import asyncio, os, unittest
    import pytest
    import pytest_asyncio

    @pytest.fixture(scope="module")
    def keeps_the_process():
        return os.getpid()

    @pytest.fixture
    def box():
        return []

    @pytest_asyncio.fixture
    async def async_box():
        await asyncio.sleep(0)
        return []

    def test_function(keeps_the_process, box, request):
        box.append(1)
        assert [1] == box and box is request.getfixturevalue("box")

    @pytest.mark.parametrize("size", [1, 2])
    def test_parametrized(keeps_the_process, box, size):
        box.extend([0] * size)
        assert size == len(box)

    @pytest.mark.asyncio
    async def test_coroutine(keeps_the_process, async_box, box):
        async_box.append(1)
        await asyncio.sleep(0)
        assert [1] == async_box and [] == box

    def test_folder(keeps_the_process, tmp_path):
        (tmp_path / "once").mkdir()
        assert ["once"] == [path.name for path in tmp_path.iterdir()]

    def test_patched(keeps_the_process, monkeypatch):
        assert "MARK" not in os.environ
        monkeypatch.setenv("MARK", "1")

    def test_said(keeps_the_process, capsys):
        print("said")
        assert "said\\n" == capsys.readouterr().out

    def test_properties(keeps_the_process, request, record_property):
        assert [] == request.node.user_properties
        record_property("seen", 1)
        assert "tryfirst" not in request.node.keywords
        request.node.add_marker("tryfirst")
        assert 1 == len([mark for mark in request.node.iter_markers("tryfirst")])

    class TestState:
        def test_instance(self, keeps_the_process):
            assert not hasattr(self, "seen")
            self.seen = True

        @pytest.mark.asyncio
        async def test_async_instance(self, keeps_the_process):
            assert not hasattr(self, "seen")
            self.seen = True

    class TestUnit(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.box = 1

        def setUp(self):
            self.own = []

        def test_unit(self):
            assert not hasattr(self, "seen") and [] == self.own
            self.seen = True
            self.own.append(1)

    class TestAsyncUnit(unittest.IsolatedAsyncioTestCase):
        @classmethod
        def setUpClass(cls):
            cls.box = 1

        async def test_async_unit(self):
            assert not hasattr(self, "seen")
            self.seen = True
"""


NAMES = (
    "test_function",
    "test_parametrized[1]",
    "test_parametrized[2]",
    "test_coroutine",
    "test_folder",
    "test_patched",
    "test_said",
    "test_properties",
    "test_instance",
    "test_async_instance",
    "test_unit",
    "test_async_unit",
)


@pytest.mark.parametrize("engine", ["fork", "serial", "xdist"])
def test_every_sample_is_fresh_in_a_process_that_runs_many(suite, statuses, engine):
    """Fixtures, parameters, coroutines, folders, patches, captures, properties, markers, class and unittest state."""
    told = statuses(suite(test_fresh=FRESH), "-p", "asyncio", engine=engine, runs=12, slots=2)
    assert {name: ["passed"] * 12 for name in NAMES} == told


FIELDS = """
    import copy
    import pytest
    from truegreen.pytest_plugin.twin import OF_ONE_INSTANCE, OWN_LISTS, fresh_twin

    class TestItem:
        def test_fields(self, request):
            item = request.node
            assert all(isinstance(getattr(item, name), list) for name in OWN_LISTS)
            assert item.obj.__self__ is item.instance
            assert all(name in item.__dict__ for name in OF_ONE_INSTANCE)
            assert isinstance(item.stash._storage, dict) and item._store is item.stash
            assert isinstance(item.keywords._markers, dict) and item.keywords.node is item
            assert callable(item._initrequest) and isinstance(item.fixturenames, list)
            assert hasattr(item.session, "_setupstate")

        def test_sharing(self, request):
            item = request.node
            names = set(item.__dict__)
            twin = fresh_twin(item)
            twin.user_properties.append(("a", 1))
            twin.add_marker("tryfirst")
            twin.add_report_section("call", "out", "text")
            twin.extra_keyword_matches.add("tryfirst")
            twin.stash[pytest.StashKey()] = 1
            other = fresh_twin(item)
            assert twin.instance is not item.instance and other.instance is not twin.instance
            assert names == set(item.__dict__)
            for one in (item, other):
                assert [] == one.user_properties and [] == one._report_sections
                assert "tryfirst" not in one.keywords and "tryfirst" not in one.extra_keyword_matches
                assert len(twin.stash) == len(one.stash) + 1
            assert item.nodeid == twin.nodeid and twin.keywords.node is twin
"""


@pytest.mark.parametrize("name", ["test_fields", "test_sharing"])
def test_the_private_fields_that_a_twin_replaces_exist_and_are_its_own(suite, statuses, name):
    """A new pytest that renames one of them fails here and not in somebody's ledger."""
    assert {name: ["passed"]} == statuses(suite(test_item=FIELDS), "-k", name, engine="serial")
