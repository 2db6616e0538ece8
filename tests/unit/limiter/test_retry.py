# SPDX-License-Identifier: Apache-2.0
"""Whether an attempt may be repeated, and when; the complaints about other retry layers as inputs."""

import datetime as dt
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.admission import Again, Ended, Final, Pressure
from truegreen.core.exchange import End
from truegreen.limiter.retry import Call, RetryLimits, after, decided, pressure_of, retry_table
from truegreen.limiter.signals import Signal

NOW = dt.datetime(2026, 8, 13, 15, 35, 13, tzinfo=dt.UTC)
LAST_DAY = "Fri, 31 Dec 9999 23:59:59 GMT"
LIMITS = RetryLimits()


def ended(status=None, end=End.COMPLETE, **more):
    """An attempt."""
    return Ended(status=status, end=end, **more)


def ruled(one, *earlier, chance=0.0, spent_s=0.0, budget=True, limits=LIMITS):
    """The ruling on an attempt after earlier ones."""
    call = Call(earlier=earlier, spent_s=spent_s, is_budget_left=budget)
    return after(one, call, now=NOW, chance=chance, limits=limits)


TOLD = ended(429, retry_after=("1",))
UNTOLD = ended(429)
BROKEN = ended(503)
LATE = ended(end=End.TIMEOUT, took_s=60.0)
CUT = ended(200, End.UPSTREAM_CLOSED)
REFUSED = ended(end=End.REFUSED)


def test_the_table_has_one_row_for_every_combination():
    """Its loader proved that; here every row is found by asking, the whole product through."""
    table = retry_table()
    fields = list(table.fields)
    found = {
        table.decide(**dict(zip(fields, values, strict=True))).id
        for values in itertools.product(*table.fields.values())
    }
    assert {row.id for row in table.rows} == found


def test_nothing_widens_the_closed_classes():
    """RULES in one loop: of all combinations only 429, 5xx, time-outs and transport faults are ever repeated."""
    table = retry_table()
    fields = list(table.fields)
    for values in itertools.product(*table.fields.values()):
        facts = dict(zip(fields, values, strict=True))
        if table.decide(**facts).then["again"] == "yes":
            assert facts["signal"] in ("rate-limited", "server-error", "timed-out", "cut", "not-connected")
            assert ("left", "left", "left") == (facts["attempts"], facts["time"], facts["budget"])
            assert facts["signal"] == "rate-limited" or not facts["repeated"]
            assert not facts["passed"]


def test_a_hint_narrows_and_never_widens():
    """With x-should-retry: true the answer is that without it; with false never more than that."""
    table = retry_table()
    fields = [name for name in table.fields if name != "hint"]
    for values in itertools.product(*(table.fields[name] for name in fields)):
        facts = dict(zip(fields, values, strict=True))
        again = {hint: table.decide(**facts, hint=hint).then["again"] for hint in ("none", "yes", "no")}
        assert again["none"] == again["yes"]
        assert again["no"] == "no" or (again["none"] == "yes" and facts["told"] == "within")


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (ended(200), Final(reason="answered")),
        (TOLD, Again(wait_s=1.0, reason="429-told")),
        (UNTOLD, Again(wait_s=0.0, reason="429-untold")),
        (ended(429, retry_after_ms=("1500",)), Again(wait_s=1.5, reason="429-told")),
        (ended(429, retry_after=("soon",)), Again(wait_s=0.0, reason="429-untold")),
        (ended(429, should_retry="false"), Final(reason="told-not-to")),
        (ended(429, should_retry="false", retry_after=("1",)), Again(wait_s=1.0, reason="429-told")),
        (ended(429, error_type="insufficient_quota", retry_after=("1",)), Final(reason="quota-exhausted")),
        (ended(429, error_text="tokens per day"), Final(reason="quota-exhausted")),
        (ended(429, retry_after=(LAST_DAY,)), Final(reason="wait-over-limit")),
        (ended(429, retry_after=("301",)), Final(reason="wait-over-limit")),
        (ended(429, retry_after=("300",)), Again(wait_s=300.0, reason="429-told")),
        (ended(429, retry_after_ms=("300000.000001",)), Final(reason="wait-over-limit")),
        (ended(429, retry_after=("9" * 5000,)), Final(reason="wait-over-limit")),
        (ended(500), Again(wait_s=0.0, reason="server-error")),
        (ended(529), Again(wait_s=0.0, reason="server-error")),
        (ended(503, retry_after=("120",)), Again(wait_s=120.0, reason="server-error")),
        (ended(503, retry_after=("3600",)), Final(reason="wait-over-limit")),
        (ended(503, should_retry="false", retry_after=("1",)), Final(reason="told-not-to")),
        (ended(503, should_retry="FALSE "), Final(reason="told-not-to")),
        (ended(503, should_retry="perhaps"), Again(wait_s=0.0, reason="server-error")),
        (ended(400, should_retry="true"), Final(reason="never-retried")),
        (ended(404, retry_after=("5",)), Final(reason="never-retried")),
        (ended(408), Final(reason="never-retried")),
        (ended(409), Final(reason="never-retried")),
        (ended(422), Final(reason="never-retried")),
        (ended(302, retry_after=("5",)), Final(reason="never-retried")),
        (LATE, Again(wait_s=0.0, reason="timed-out")),
        (CUT, Again(wait_s=0.0, reason="transport-fault")),
        (REFUSED, Again(wait_s=0.0, reason="transport-fault")),
        (ended(200, error_type="overloaded_error"), Again(wait_s=0.0, reason="server-error")),
        (ended(200, error_type="rate_limit_error"), Again(wait_s=0.0, reason="429-untold")),
        (ended(200, error_type="insufficient_quota"), Final(reason="quota-exhausted")),
        (ended(200, error_type="invalid_request_error"), Final(reason="never-retried")),
        (ended(200, error_type="what_is_this"), Final(reason="unclassified")),
        (ended(200, End.CLIENT_CLOSED), Final(reason="caller-left")),
    ],
)
def test_a_first_attempt_is_ruled_by_its_class(one, expected):
    """The article's table with its neighbours."""
    assert expected == ruled(one)


@pytest.mark.parametrize("one", [BROKEN, LATE, CUT, REFUSED, ended(200, error_type="server_error")])
def test_once_means_once(one):
    """The second end of the same kind stands."""
    assert Final(reason="repeated-once") == ruled(one, one)


def test_a_server_error_with_another_number_is_the_same_signal():
    """500 and then 529 is twice."""
    assert Final(reason="repeated-once") == ruled(ended(529), ended(500))


def test_different_signals_share_the_attempts_of_a_call():
    """Each once, and never more than the attempts of the call."""
    assert Again(wait_s=0.0, reason="timed-out") == ruled(LATE, BROKEN)
    assert Final(reason="attempts-spent") == ruled(CUT, BROKEN, LATE)


@pytest.mark.parametrize("attempts", [1, 2, 3, 7])
@pytest.mark.parametrize("one", [TOLD, UNTOLD])
def test_an_endpoint_that_always_says_429_sees_exactly_the_attempts(one, attempts):
    """B1 to B4: one layer, attempts == configured, and no wait after the last one (what the article's loop gets wrong)."""
    limits, made = RetryLimits(attempts=attempts), []
    while True:
        ruling = ruled(one, *made, limits=limits)
        made.append(one)
        if isinstance(ruling, Final):
            break
    assert (attempts, Final(reason="attempts-spent")) == (len(made), ruling)


@pytest.mark.parametrize("told", ["61", "1213"])
def test_a_told_wait_is_waited_or_given_up_and_never_shortened(told):
    """B5: 61 seconds are not replaced by half a second, 1,213 not clamped to 10."""
    for limits in (RetryLimits(longest_wait_s=60), RetryLimits(longest_wait_s=2000, total_s=5000)):
        ruling = ruled(ended(429, retry_after=(told,)), limits=limits)
        if isinstance(ruling, Again):
            assert ruling.wait_s >= int(told)
        else:
            assert (60, "wait-over-limit") == (limits.longest_wait_s, ruling.reason)


def test_overloaded_is_a_server_error():
    """B29: 529 is not fatal at once, and not for ever."""
    assert isinstance(ruled(ended(529)), Again)
    assert isinstance(ruled(ended(529), ended(529)), Final)


def test_the_total_deadline_stands_apart_from_a_time_out():
    """B28: one attempt's time-out is repeated once; the call's deadline ends it whatever came."""
    assert isinstance(ruled(LATE, spent_s=600.0), Again)
    assert Final(reason="deadline") == ruled(LATE, spent_s=900.0)
    assert Final(reason="deadline") == ruled(ended(429, retry_after=("100",)), spent_s=800.0)
    assert isinstance(ruled(ended(429, retry_after=("99",)), spent_s=800.0), Again)


def test_a_spent_budget_ends_what_would_be_repeated_and_nothing_else():
    """An answer is an answer without a budget too."""
    assert Final(reason="budget-spent") == ruled(TOLD, budget=False)
    assert Final(reason="answered") == ruled(ended(200), budget=False)
    assert Final(reason="never-retried") == ruled(ended(400), budget=False)


def test_what_the_caller_has_begun_to_read_is_not_repeated():
    """A stream that is cut in the middle, and one that ends well."""
    cut = ended(200, End.UPSTREAM_CLOSED, has_passed=True)
    assert Final(reason="passed-on") == ruled(cut)
    assert Final(reason="answered") == ruled(ended(200, has_passed=True))


def test_an_answer_that_differs_is_never_asked_again():
    """A test failure is no infrastructure, whatever else is known."""
    row = decided(Signal.DIFFERS)
    assert ("no", "test-failure", "article") == (row.then["again"], row.then["reason"], row.origin)


def rule_of_the_house(history, *, total_s, budget):  # noqa: C901 - rules read aloud, one after another
    """The rules again, as a person would read them aloud; whether the last of these attempts is repeated."""
    last, before = history[-1], history[:-1]

    def kind(one):
        if one.status == 429:
            return "429"
        if one.status is not None and one.status >= 500:
            return "5xx"
        if one.status == 200 and one.end is End.COMPLETE:
            return "answer"
        if one.status not in (None, 200):
            return "4xx"
        return {End.TIMEOUT: "time-out", End.CLIENT_CLOSED: "left"}.get(
            one.end, "no connection" if one.end is End.REFUSED else "cut"
        )

    told = int(last.retry_after[0]) if last.retry_after else None
    if kind(last) in ("answer", "4xx", "left") or len(history) >= 3 or not budget:
        return False
    if kind(last) == "429":
        if last.error_type == "insufficient_quota":
            return False
        if told is None and last.should_retry == "false":
            return False
    elif last.should_retry == "false" or kind(last) in map(kind, before):
        return False
    if kind(last) in ("429", "5xx") and told is not None:
        return told <= 300 and total_s + told + 0.5 < 900
    return total_s + 0.5 * min(20, 2 ** len(before)) < 900


ENDS = st.one_of(
    st.builds(
        ended,
        st.sampled_from([200, 400, 404, 408, 409, 422, 429, 500, 503, 529]),
        retry_after=st.sampled_from([(), ("0",), ("1",), ("300",), ("301",), ("9999999999",)]),
        should_retry=st.sampled_from([None, "true", "false"]),
        error_type=st.just(None),
    ),
    st.builds(ended, st.just(429), error_type=st.just("insufficient_quota")),
    st.builds(ended, st.just(200), st.just(End.UPSTREAM_CLOSED)),
    st.builds(
        ended, st.none(), st.sampled_from([End.TIMEOUT, End.REFUSED, End.UPSTREAM_CLOSED, End.CLIENT_CLOSED])
    ),
)


@given(
    st.lists(ENDS, min_size=1, max_size=4), st.sampled_from([0.0, 598.0, 599.5, 899.0, 5000.0]), st.booleans()
)
def test_every_history_is_ruled_as_the_rules_read(history, total_s, budget):
    """An independent reading of the closed classes, over anything that may happen to a call."""
    ruling = ruled(history[-1], *history[:-1], chance=0.5, spent_s=total_s, budget=budget)
    assert rule_of_the_house(history, total_s=total_s, budget=budget) is isinstance(ruling, Again)


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 400), st.integers(0, 100_000_000))
def test_a_repetition_comes_never_sooner_than_told_and_with_jitter_on_top(chance, seconds, nanoseconds):
    """Whatever chance says, and to the last nanosecond."""
    milliseconds = f"{nanoseconds // 1_000_000}.{nanoseconds % 1_000_000:06}"
    one = ended(429, retry_after=(str(seconds),), retry_after_ms=(milliseconds,))
    ruling = ruled(one, chance=chance)
    told = max(seconds * 10**9, nanoseconds)
    if told > 300 * 10**9:
        assert Final(reason="wait-over-limit") == ruling
    else:
        assert told <= ruling.wait_s * 10**9 * (1 + 1e-12) <= told + 1e9 * 1.01


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 2000))
def test_a_wait_without_a_told_one_is_random_below_a_bound_that_doubles(chance, earlier):
    """Full jitter, at most 20 seconds, for any number of attempts."""
    ruling = ruled(UNTOLD, *[UNTOLD] * earlier, chance=chance, limits=RetryLimits(attempts=10_000))
    assert 0 <= ruling.wait_s <= min(20.0, 2.0 ** min(earlier, 10))
    assert chance * min(20.0, 2.0 ** min(earlier, 10)) == ruling.wait_s


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (ended(200), Pressure(is_answered=True)),
        (TOLD, Pressure(pause_s=1.0)),
        (ended(503, retry_after=("7",)), Pressure(pause_s=7.0)),
        (UNTOLD, Pressure(is_overload=True)),
        (ended(200, error_type="rate_limit_error"), Pressure(is_overload=True)),
        (ended(429, error_type="insufficient_quota"), Pressure()),
        (ended(429, retry_after=(LAST_DAY,)), Pressure(pause_s=300.0)),
        (ended(404, retry_after=("5",)), Pressure()),
        (BROKEN, Pressure()),
        (LATE, Pressure()),
        (CUT, Pressure()),
    ],
)
def test_what_an_end_means_for_all(one, expected):
    """A told time pauses everybody, an untold 429 lowers the rate, an absurd time stops nobody for years."""
    assert expected == pressure_of(one, now=NOW)
