# SPDX-License-Identifier: Apache-2.0
"""Reading a policy: defaults, sources, and each thing that can be wrong with its line."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import UsageProblem
from truegreen.core.policy import DEFAULT_CAP, Check, KindFacts, Lane
from truegreen.core.policy_keys import ANY_LANE, KEYS, LATER_KEYS
from truegreen.core.policy_read import MOST_PROBLEMS, policy_problems, read_policy

KINDS = {
    "sample-ledger": KindFacts(model_backed=False, built=True),
    "opinion": KindFacts(model_backed=True, built=True),
    "review-verdict": KindFacts(model_backed=True, built=False),
    "cold-replay": KindFacts(model_backed=False, built=False),
}
HEAD = 'schema = "truegreen/policy/v1"\n'
SHORT = HEAD + '[lanes.model-tests]\ntests = "tests/llm"\n'


def _read(text):
    return read_policy(text.encode(), kinds=KINDS)


def _said(text):
    return [str(problem) for problem in policy_problems(text.encode(), kinds=KINDS)]


def test_the_short_form_needs_only_the_tests():
    """Every other key has its default, and says so."""
    policy = _read(SHORT)
    lane = Lane(
        name="model-tests",
        kind="sample-ledger",
        role="required",
        tests="tests/llm",
        rule="smoke",
        samples=5,
        cap=DEFAULT_CAP,
        irrelevant=(),
        ruler=(),
        runs="same-tree",
        tree="merge",
        base="ancestor",
        seal="unsigned",
        formats=("truegreen/v1",),
        job="model-tests",
        workflow=".github/workflows/truegreen.yml",
        retries=2,
        truncated="invalid",
        max_calls=None,
        max_minutes=None,
        timeout_s=60.0,
        concurrency=8,
        model=None,
        allow_removed=0,
        owner=None,
    )
    check = Check(
        name="truegreen",
        workflow=".github/workflows/truegreen.yml",
        branches=("main",),
        topology="editable",
    )
    assert ((lane,), check) == (policy.lanes, policy.check)
    assert ("observe", (), 10, 30) == (
        policy.mode,
        policy.harness,
        policy.max_quarantined,
        policy.max_quarantine_days,
    )
    given_here = {key: source for key, source in policy.sources.items() if source != "default"}
    assert {"schema": "truegreen.toml:1", "lanes.model-tests.tests": "truegreen.toml:3"} == given_here


def test_the_policy_is_known_by_its_bytes():
    """Digest and text are those of the file, line ends included."""
    data = SHORT.replace("\n", "\r\n").encode()
    policy = read_policy(data, kinds=KINDS)
    assert (f"sha256:{hashlib.sha256(data).hexdigest()}", data.decode()) == (policy.digest, policy.text)


def test_every_value_has_a_source():
    """One per key and lane; a lane whose name needs quotes shows them."""
    policy = _read(HEAD + '[lanes]\n"a.b" = {tests = "x"}\nc = {tests = "y"}\n')
    per_lane = [path[-1] for path in KEYS if path[:2] == ("lanes", ANY_LANE)]
    wanted = {".".join(path) for path in KEYS if ANY_LANE not in path and path[0] != "limiter"}
    wanted |= {f'lanes."a.b".{name}' for name in per_lane} | {f"lanes.c.{name}" for name in per_lane}
    assert wanted == set(policy.sources)
    assert "truegreen.toml:4" == policy.sources["lanes.c.tests"]


def test_a_lanes_workflow_follows_the_checks():
    """Value and source; one of its own goes before."""
    text = HEAD + '[check]\nworkflow = ".github/workflows/a.yaml"\n'
    policy = _read(
        text + '[lanes.a]\ntests = "x"\n[lanes.b]\ntests = "x"\nworkflow = ".github/workflows/b.yml"\n'
    )
    assert [
        (".github/workflows/a.yaml", "truegreen.toml:3"),
        (".github/workflows/b.yml", "truegreen.toml:8"),
    ] == [(lane.workflow, policy.sources[f"lanes.{lane.name}.workflow"]) for lane in policy.lanes]


def test_a_job_is_called_like_its_lane_unless_it_is_named():
    """The forge lists jobs by their display names."""
    policy = _read(HEAD + '[lanes.a]\ntests = "x"\n[lanes.b]\ntests = "x"\njob = "Model tests ({part})"\n')
    assert ["a", "Model tests ({part})"] == [lane.job for lane in policy.lanes]


def test_a_value_out_of_a_closed_set_is_shown_beside_the_set():
    """The line, both values, the code."""
    text = (
        HEAD
        + 'mode = "observe"\n\n[lanes.model-tests]\nkind = "sample-ledger"\nrole = "requird"\ntests = "x"\n'
    )
    wanted = 'truegreen.toml:6: lanes.model-tests.role is "requird", one of required, consulted, advisory [policy-value]'
    assert [wanted] == _said(text)
    with pytest.raises(UsageProblem) as caught:
        _read(text)
    assert (wanted, 2) == (str(caught.value), caught.value.exit_code)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'truegreen.toml: the file has no schema, asked "truegreen/policy/v1" [missing-key]'),
        (
            '\nschema = "truegreen/policy/v2"\nnonsense = 1\n',
            'truegreen.toml:2: schema is "truegreen/policy/v2", asked "truegreen/policy/v1" [policy-value]',
        ),
        ("schema = 1\n", 'truegreen.toml:1: schema is 1, asked "truegreen/policy/v1" [policy-type]'),
        (HEAD, "truegreen.toml: of 0 lanes none is required, asked at least one [no-required-lane]"),
        (
            HEAD + "[lanes]\n",
            "truegreen.toml:2: of 0 lanes none is required, asked at least one [no-required-lane]",
        ),
        (
            HEAD + '[lanes.a]\ntests = "x"\nrole = "advisory"\n[lanes.b]\ntests = "x"\nrole = "consulted"\n',
            "truegreen.toml:2: of 2 lanes none is required, asked at least one [no-required-lane]",
        ),
        (HEAD + "lanes = 3\n", "truegreen.toml:2: lanes is 3, asked a table [policy-type]"),
        (HEAD + "[lanes]\na = true\n", "truegreen.toml:3: lanes.a is true, asked a table [policy-type]"),
        (
            HEAD + "[lanes.a]\n",
            "truegreen.toml:2: lanes.a has no tests, asked a path from the root [missing-key]",
        ),
        (
            HEAD + "[[lanes]]\ntests = 'x'\n",
            "truegreen.toml:2: lanes is a list of 1, asked a table [policy-type]",
        ),
        (
            SHORT + "samples = 5.0\n",
            "truegreen.toml:4: lanes.model-tests.samples is 5.0, asked a whole number from 1 to 500 [policy-type]",
        ),
        (
            SHORT + "samples = true\n",
            "truegreen.toml:4: lanes.model-tests.samples is true, asked a whole number from 1 to 500 [policy-type]",
        ),
        (
            SHORT + f"samples = 0x{'f' * 9000}\n",
            (
                "truegreen.toml:4: lanes.model-tests.samples is a number of 36000 bits, asked a whole number from 1 to 500 "
                "[policy-value]"
            ),
        ),
        (
            SHORT + "timeout_s = 0\n",
            (
                "truegreen.toml:4: lanes.model-tests.timeout_s is 0, asked a number of seconds above 0 and up to 3600 "
                "[policy-value]"
            ),
        ),
        (
            SHORT + "timeout_s = nan\n",
            (
                "truegreen.toml:4: lanes.model-tests.timeout_s is nan, asked a number of seconds above 0 and up to 3600 "
                "[policy-value]"
            ),
        ),
        (
            SHORT + "owner = 2026-01-01\n",
            "truegreen.toml:4: lanes.model-tests.owner is 2026-01-01, asked a name [policy-type]",
        ),
        (
            SHORT + 'irrelevant = "docs/**"\n',
            'truegreen.toml:4: lanes.model-tests.irrelevant is "docs/**", asked a list of patterns [policy-type]',
        ),
        (
            SHORT + 'irrelevant = [\n  "docs/**",\n  "docs/**",\n]\n',
            (
                'truegreen.toml:6: lanes.model-tests.irrelevant[1] is "docs/**", asked a list of patterns, each once '
                "[policy-value]"
            ),
        ),
        (
            SHORT + "irrelevant = [\n'a',\n1]\n",
            "truegreen.toml:6: lanes.model-tests.irrelevant[1] is 1, asked a pattern of paths [policy-type]",
        ),
        (
            SHORT + "[check]\nbranches = []\n",
            (
                "truegreen.toml:5: check.branches is a list of 0, asked a list of exact branch names, 1 to 200 of them "
                "[policy-value]"
            ),
        ),
        (
            SHORT + '[check]\nname = "\\u001b[31m"\n',
            (
                'truegreen.toml:5: check.name is "\\x1b[31m", asked a single line without control characters or spaces '
                "around it [policy-value]"
            ),
        ),
        (
            SHORT + f'kind = "{"k" * 50}"\n',
            (
                f'truegreen.toml:4: lanes.model-tests.kind is "{"k" * 50}", asked the name of a record kind of 1 to 41 '
                "characters [policy-value]"
            ),
        ),
        (
            HEAD + '[lanes.Lane]\ntests = "x"\n',
            (
                'truegreen.toml:2: the lane is called "Lane", asked a lane\'s name of lower-case letters, digits, ".", "_" '
                'and "-" that starts with a letter or digit [policy-value]'
            ),
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, said):
    """Types, values, missing keys."""
    assert said == _said(text)[0]


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("lanes.model-tests.rol", "lanes.model-tests.role"),
        ("lanes.model-tests.sample", "lanes.model-tests.samples"),
        ("lanes.model-tests.branches", "check.branches"),
        ("check.tests", "lanes.NAME.tests"),
        ("check.brnches", "check.branches"),
        ("lane", "lanes"),
        ("Mode", "mode"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known(key, nearest):
    """A spelling mistake never becomes a default in silence."""
    text = f"{HEAD}{key} = 1\n[lanes.b]\ntests = 'x'\n"
    assert f"truegreen.toml:2: {key} is no key of a policy, the nearest is {nearest} [unknown-key]" in _said(
        text
    )


def test_a_key_that_is_like_no_other_is_refused_without_a_guess():
    """And what stands in it cannot reach a terminal."""
    said = _said(HEAD + '"\\u001b]0;x\\u0007" = 1\n[lanes.b]\ntests = "x"\n')
    assert ['truegreen.toml:2: "\\x1b]0;x\\x07" is no key of a policy [unknown-key]'] == said


LATER_VALUES = [(key.path, value) for key in KEYS.values() for value in key.later]


@pytest.mark.parametrize("path", LATER_KEYS, ids=".".join)
def test_a_key_that_is_not_built_is_refused(path):
    """Never ignored, never taken for a mistake; the line and what it is for are said."""
    dotted = ".".join("a" if step == ANY_LANE else step for step in path)
    text = f"{HEAD}{dotted} = 1\nlanes.a.tests = 'x'\n"
    wanted = f"truegreen.toml:2: {dotted} ({LATER_KEYS[path]}) is not in this version of truegreen [not-in-this-version]"
    assert [wanted] == _said(text)


@pytest.mark.parametrize(("path", "value"), LATER_VALUES, ids=str)
def test_a_value_that_is_not_built_is_refused(path, value):
    """As its key would be; in a list, at its element."""
    dotted = ".".join("a" if step == ANY_LANE else step for step in path)
    is_list = path[-1] == "formats"
    text = f"{HEAD}lanes.a.tests = 'x'\n{dotted} = {[value] if is_list else repr(value)}\n"
    wanted = (
        f'truegreen.toml:3: {dotted}{"[0]" if is_list else ""} = "{value}" ({KEYS[path].later[value]}) '
        "is not in this version of truegreen [not-in-this-version]"
    )
    assert [wanted] == _said(text)


def test_a_kind_that_is_not_built_is_refused():
    """It is known, so it is no mistake."""
    wanted = (
        'truegreen.toml:4: lanes.model-tests.kind = "cold-replay" (records of a later kind) '
        "is not in this version of truegreen [not-in-this-version]"
    )
    assert [wanted] == _said(SHORT + 'kind = "cold-replay"\n')


def test_a_kind_that_nobody_knows_is_a_wrong_value():
    """The built kinds are named."""
    wanted = (
        'truegreen.toml:4: lanes.model-tests.kind is "ledger", one of opinion, sample-ledger [policy-value]'
    )
    assert [wanted] == _said(SHORT + 'kind = "ledger"\n')


@pytest.mark.parametrize("role", ["", 'role = "required"\n'])
def test_a_models_judgement_is_never_required(role):
    """Neither by name nor by leaving the role out; consulted it may be."""
    said = _said(SHORT + 'kind = "opinion"\n' + role)
    assert [
        (
            "truegreen.toml:4: lanes.model-tests is required and its kind opinion is a model's judgement, asked consulted "
            "or advisory [model-backed-required]"
        )
    ] == said
    consulted = SHORT + '[lanes.b]\ntests = "x"\nkind = "opinion"\nrole = "consulted"\n'
    assert "consulted" == _read(consulted).lanes[1].role


def test_a_later_kind_that_may_never_be_required_says_so_first():
    """What stays wrong in every version goes before what is missing in this one."""
    said = _said(SHORT + 'kind = "review-verdict"\n')
    assert ["model-backed-required", "not-in-this-version"] == [line.rsplit("[")[-1][:-1] for line in said]


@pytest.mark.parametrize(
    "path",
    [
        "/a",
        "a/",
        "a//b",
        "./a",
        "a/..",
        "..",
        ".",
        "a/./b",
        "../a",
        "a\\b",
        "a\nb",
        "",
        "e\u0301",
        "a" * 1025,
    ],
)
def test_a_path_has_one_spelling(path):
    """From the root, in NFC, without a way out."""
    text = HEAD + "[lanes.a]\ntests = " + '"' + path.replace("\\", "\\\\").replace("\n", "\\n") + '"\n'
    assert ["policy-value"] == [problem.code for problem in policy_problems(text.encode(), kinds=KINDS)]


@pytest.mark.parametrize("path", ["a", "tests/llm", "a/b.c/..d", ".hidden", "a b/é", "...", "a/[slug]"])
def test_an_ordinary_path_is_taken_as_it_is(path):
    """Nothing is normalised."""
    assert path == _read(HEAD + f"[lanes.a]\ntests = '{path}'\n").lanes[0].tests


@pytest.mark.parametrize(
    "branch",
    [
        "",
        "*",
        "release/*",
        "rel?",
        "[ab]",
        "refs/heads/main",
        "-x",
        "a..b",
        "a b",
        "a.lock",
        "a.lock/b",
        "/a",
        "a/",
        "a//b",
        "a/.b",
        ".a",
        "a.",
        "@",
        "a@{b",
        "a~1",
        "a^",
        "a:b",
        "a\\\\b",
        "a\\u007f",
    ],
)
def test_a_branch_is_named_exactly(branch):
    """What git does not allow, and every pattern, is refused."""
    said = policy_problems(f'{SHORT}[check]\nbranches = ["main", "{branch}"]\n'.encode(), kinds=KINDS)
    assert ["policy-value"] == [problem.code for problem in said]


@pytest.mark.parametrize("branch", ["main", "release/1.2", "a@b", "é", "x-y_z", "a.b", "HEAD"])
def test_an_ordinary_branch_is_taken(branch):
    """As git allows it."""
    assert (branch,) == _read(f'{SHORT}[check]\nbranches = ["{branch}"]\n').check.branches


@pytest.mark.parametrize(
    "path",
    ["truegreen.yml", ".github/workflows/a/b.yml", ".github/workflows/a.json", "/.github/workflows/a.yml"],
)
def test_a_workflow_stands_where_the_forge_looks(path):
    """One file, directly in the folder."""
    said = policy_problems(f'{SHORT}[check]\nworkflow = "{path}"\n'.encode(), kinds=KINDS)
    assert ["policy-value"] == [problem.code for problem in said]


def test_everything_that_is_wrong_is_told_in_the_order_of_the_lines():
    """``policy check`` shows all of it; reading stops at the first."""
    text = HEAD + 'lanes.b.tests = 1\nmode = "x"\nlanes.a.tests = 1\nzzz = 1\n'
    assert [2, 3, 4, 5] == [int(line.split(":")[1]) for line in _said(text)]
    with pytest.raises(UsageProblem, match=r"^truegreen\.toml:2:"):
        _read(text)


def test_a_file_full_of_mistakes_is_not_read_to_its_end():
    """The list has a limit."""
    assert MOST_PROBLEMS == len(_said(HEAD + "".join(f"k{number} = 1\n" for number in range(1000))))


def test_another_name_stands_in_every_problem():
    """The gate reads base's file, and says so."""
    (problem,) = policy_problems(b"x", kinds=KINDS, name="base:truegreen.toml")
    assert problem.message.startswith("base:truegreen.toml:1: no TOML")


VALUES = st.one_of(
    st.sampled_from(
        ['"x"', '"observe"', "1", "5", "-1", "1.5", "true", "[]", '["a"]', "{}", "2026-01-01", "inf"]
    ),
    st.text(alphabet="ab*/.! \t", max_size=5).map(lambda text: f'"{text}"'.replace("\t", "\\t")),
)
DOTTED = st.sampled_from(
    sorted(
        {".".join("a" if step == ANY_LANE else step for step in path) for path in [*KEYS, *LATER_KEYS]}
        | {"x.y"}
    )
)


@given(pairs=st.dictionaries(DOTTED, VALUES, max_size=8), head=st.sampled_from(["", HEAD, SHORT + "[x]\n"]))
def test_any_policy_is_read_whole_or_refused_with_its_file(pairs, head):
    """No other error comes out, and what was read has every key."""
    data = (head + "".join(f"{key} = {value}\n" for key, value in pairs.items())).encode()
    problems = policy_problems(data, kinds=KINDS)
    for problem in problems:
        assert problem.message.startswith("truegreen.toml")
    if not problems:
        assert set() == set(pairs) - set(read_policy(data, kinds=KINDS).sources)


REPLAYED = {"contract-check": KindFacts(model_backed=False, built=True)}


@pytest.mark.parametrize(
    ("lane", "key"),
    [
        ('kind = "contract-check"\nrule = "fixed"', "rule"),
        ('kind = "contract-check"\nno_secrets = "replay"', "no_secrets"),
        ('kind = "sample-ledger"\nguard = "landlock"', "guard"),
        ('cassettes = "recordings"', "cassettes"),
    ],
)
def test_a_key_that_would_do_nothing_is_refused(lane, key):
    """Keys of sampling on a lane that replays, keys of replay on a lane that only samples."""
    text = f'schema = "truegreen/policy/v1"\n[lanes.a]\ntests = "t"\n{lane}\n'
    with pytest.raises(UsageProblem) as caught:
        read_policy(text.encode(), kinds=KINDS | REPLAYED)
    assert ("policy-value", True) == (
        caught.value.code,
        f"lanes.a.{key} does nothing" in caught.value.message,
    )


@pytest.mark.parametrize(
    "lane",
    ['kind = "contract-check"\nguard = "audit"', 'no_secrets = "replay"\nguard = "audit"\ncassettes = "c"'],
)
def test_a_lane_that_replays_says_how(lane):
    """Folder and guard belong to it, whether it always replays or only without a key."""
    text = f'schema = "truegreen/policy/v1"\n[lanes.a]\ntests = "t"\n{lane}\n'
    found = read_policy(text.encode(), kinds=KINDS | REPLAYED)
    assert ("audit", True) == (found.lanes[0].guard, found.lanes[0].replays)


def test_whose_recordings_count_is_read():
    """Addresses and keys of the table [cassettes]; without it nobody's."""
    key = "ed25519:" + "A" * 43 + "="
    text = f'schema = "truegreen/policy/v1"\n[cassettes]\nauthors = ["a@x.org"]\nkeys = ["{key}"]\n[lanes.a]\ntests = "t"\n'
    found = read_policy(text.encode(), kinds=KINDS)
    assert (("a@x.org",), (key,)) == (found.cassettes.authors, found.cassettes.keys)


LIMITER = SHORT + '[limiter]\nowner = "@ana"\n'


def test_limits_are_read_with_their_defaults():
    """Without a table there are none."""
    assert _read(SHORT).limiter is None
    limiter = _read(LIMITER + 'rate = "12/min"\ncapacity = 6\n').limiter
    assert ("@ana", "12/min", 6, 1, "closed", None) == (
        limiter.owner,
        limiter.rate,
        limiter.capacity,
        limiter.burst,
        limiter.on_unreachable,
        limiter.host,
    )


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        ("", "missing-key", "limiter limits nothing, asked capacity, rate or tokens_per_minute"),
        ("capacity = 0\n", "policy-value", "limiter.capacity is 0, asked a whole number from 1 to 10000"),
        ("capacity = -1\n", "policy-value", "limiter.capacity is -1"),
        ('rate = "0/s"\n', "policy-value", 'limiter.rate is "0/s"'),
        ("rate = 0.2\n", "policy-type", "limiter.rate is 0.2, asked a rate, such as 12/min"),
        ("capacity = 1\nburst = 2\n", "policy-value", "limiter.burst does nothing without limiter.rate"),
        ("capacity = 1\ntoken_burst = 2\n", "policy-value", "does nothing without limiter.tokens_per_minute"),
        ('capacity = 1\nbackend = "file:x"\n', "policy-value", "limiter.backend"),
        ('capacity = 1\nbackend = "https://me:secret@host"\n', "policy-value", "limiter.backend"),
        (
            'rate = "12/min"\nburst = 12\ncontract = "12/min"\n',
            "bucket-breaks-contract",
            "after a quiet time 23 calls fit into what is to hold 12/min; a burst of 1 keeps it",
        ),
    ],
)
def test_limits_that_mean_nothing_or_too_much_are_told(lines, code, said):
    """Each with its line."""
    (problem,) = policy_problems((LIMITER + lines).encode(), kinds=KINDS)
    assert (code, True) == (problem.code, said in problem.message)


def test_a_limit_without_an_owner_is_no_limit():
    """Somebody has to answer for it."""
    (problem,) = policy_problems((SHORT + "[limiter]\ncapacity = 1\n").encode(), kinds=KINDS)
    assert "limiter has no owner" in problem.message


def test_a_bucket_that_keeps_its_contract_is_a_policy():
    """12 a minute, one at a time."""
    assert () == policy_problems((LIMITER + 'rate = "12/min"\ncontract = "12/min"\n').encode(), kinds=KINDS)


def test_a_limiter_that_is_no_table_is_told():
    """And nothing else of it."""
    (problem,) = policy_problems(("limiter = 3\n" + SHORT).encode(), kinds=KINDS)
    assert "limiter is 3, asked a table" in problem.message
