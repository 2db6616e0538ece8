# SPDX-License-Identifier: Apache-2.0
"""A ledger in a real server: threads, tasks, processes that are killed, servers that lose what they knew."""

import asyncio
import subprocess
import sys
import threading
import time

import pytest
import redis

from simulators.valkey import new_tenant, own_server, server_at, shared_url
from truegreen.core.admission import Ask, Pressure
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.limiter.async_client import AsyncLimiter
from truegreen.limiter.backend import Key
from truegreen.limiter.client import Limiter
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.opening import limiter_at
from truegreen.limiter.valkey.backend import PREFIX, Redis, key_of

NOTHING = Pressure()


@pytest.fixture
def opened():
    """Makes ledgers on the shared server or another, and closes them after the test."""
    made = []

    def make(url=None, **limits):
        made.append(Limiter(Redis(url or shared_url(), checked(Limits(**limits)))))
        return made[-1]

    yield make
    for ledger in made:
        ledger.close()


@pytest.fixture
def tenant():
    """A name of the test's own."""
    return new_tenant()


def _call(ledger, ask):
    ledger.give_back(ledger.enter(ask), used_tokens=None, pressure=NOTHING)


def test_threads_leave_in_the_order_of_asking_and_never_more_than_fit(opened, tenant):
    """Two places, twelve threads, each with a connection of its own."""
    ledger = opened(in_flight=2)
    inside, most, tickets, lock = [], [], [], threading.Lock()

    def call():
        leave = ledger.enter(Ask(tenant=tenant))
        with lock:
            inside.append(leave.ticket)
            most.append(len(inside))
            tickets.append(leave.ticket)
        time.sleep(0.01)
        with lock:
            inside.remove(leave.ticket)
        ledger.give_back(leave, used_tokens=None, pressure=NOTHING)

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert list(range(1, 13)) == sorted(tickets)
    assert 2 == max(most)
    late = [ticket for place, ticket in enumerate(tickets) if any(it > ticket + 1 for it in tickets[:place])]
    assert [] == late  # two that leave at the same moment may note it in either order


def test_a_cost_that_never_fits_is_refused_at_once(opened, tenant):
    """Whatever the wait."""
    with pytest.raises(ReachProblem, match="costs 3 and the burst is 2") as caught:
        opened(calls=1, burst=2).enter(Ask(tenant=tenant, cost=3, wait_s=3600))
    assert "leave-refused" == caught.value.code


def test_a_wait_that_cannot_do_is_refused_before_it_begins(opened, tenant):
    """And charges nothing: the next leave is no later than it would have been."""
    ledger = opened(calls=1, per_ns=60 * SECOND)
    _call(ledger, Ask(tenant=tenant))
    for _ in range(5):
        with pytest.raises(ReachProblem, match=r"leave would take [56]\d\.\d{3} s"):
            ledger.enter(Ask(tenant=tenant, wait_s=1))


def test_what_one_limit_refuses_another_does_not_charge(opened, tenant):
    """One a minute, one in flight: who is refused for the place has not used up the rate."""
    ledger = opened(calls=2, per_ns=60 * SECOND, burst=2, in_flight=1)
    leave = ledger.enter(Ask(tenant=tenant))
    with pytest.raises(ReachProblem, match="places are taken"):
        ledger.enter(Ask(tenant=tenant, wait_s=0))
    ledger.give_back(leave, used_tokens=None, pressure=NOTHING)
    _call(ledger, Ask(tenant=tenant, wait_s=0))


def test_a_holder_that_is_killed_gives_its_place_back_when_its_lease_ends(opened, tenant):
    """The place is gone for the length of the lease and no longer; the next one hears of it by itself."""
    program = (
        "import os, sys, time\n"
        "from truegreen.core.admission import Ask\n"
        "from truegreen.limiter.limits import Limits, checked\n"
        "from truegreen.limiter.client import Limiter\n"
        "from truegreen.limiter.valkey.backend import Redis\n"
        "ledger = Limiter(Redis(sys.argv[1], checked(Limits(in_flight=1, lease_ns=500_000_000))))\n"
        "ledger.enter(Ask(tenant=sys.argv[2]))\n"
        "print('in', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, shared_url(), tenant], stdout=subprocess.PIPE
    ) as holder:
        assert b"in\n" == holder.stdout.readline()
        holder.kill()
    ledger = opened(in_flight=1, lease_ns=500_000_000)
    _call(ledger, Ask(tenant=tenant, wait_s=20))


def test_a_call_longer_than_its_lease_keeps_its_place(opened, tenant):
    """Signs of life come by themselves."""
    ledger = opened(in_flight=1, lease_ns=300_000_000)
    leave = ledger.enter(Ask(tenant=tenant))
    time.sleep(0.7)
    with pytest.raises(ReachProblem, match="1 of 1 places are taken"):
        ledger.enter(Ask(tenant=tenant, wait_s=0))
    ledger.give_back(leave, used_tokens=None, pressure=NOTHING)
    _call(ledger, Ask(tenant=tenant, wait_s=0))


def test_a_pause_of_one_is_a_pause_of_all(opened, tenant):
    """What one host was told by the endpoint holds the others."""
    one, other = opened(in_flight=5), opened(in_flight=5)
    leave = one.enter(Ask(tenant=tenant))
    one.give_back(leave, used_tokens=None, pressure=Pressure(pause_s=30, is_overload=True))
    with pytest.raises(ReachProblem, match=r"leave would take 2\d\.\d{3} s"):
        other.enter(Ask(tenant=tenant, wait_s=1))


def test_two_hosts_whose_clocks_lie_share_one_rate(tmp_path, tenant):
    """A process whose wall clock is a day ahead and one a day behind: not one call above the rate."""
    program = (
        "import sys, time\n"
        "skew = float(sys.argv[3]); true = time.time; time.time = lambda: true() + skew\n"
        "from truegreen.core.admission import Ask, Pressure\n"
        "from truegreen.core.errors import ReachProblem\n"
        "from truegreen.limiter.limits import Limits, checked\n"
        "from truegreen.limiter.client import Limiter\n"
        "from truegreen.limiter.valkey.backend import Redis\n"
        "ledger = Limiter(Redis(sys.argv[1], checked(Limits(calls=5, per_ns=3600 * 10**9, burst=5))))\n"
        "left = 0\n"
        "for _ in range(8):\n"
        "    try:\n"
        "        ledger.give_back(ledger.enter(Ask(tenant=sys.argv[2], wait_s=0)), used_tokens=None, pressure=Pressure())\n"
        "        left += 1\n"
        "    except ReachProblem:\n"
        "        pass\n"
        "print(left)\n"
    )
    command = [sys.executable, "-c", program, shared_url(), tenant]
    hosts = [
        subprocess.Popen([*command, skew], stdout=subprocess.PIPE, text=True) for skew in ("86400", "-86400")
    ]
    left = [int(host.communicate(timeout=60)[0]) for host in hosts]
    assert 5 == sum(left)


def test_a_task_that_is_cancelled_gives_back_what_it_asked_for(tenant):
    """In the queue and on the way to leave: nothing stays taken."""

    async def story():
        limits = checked(Limits(in_flight=1))
        ledger = AsyncLimiter(Redis(shared_url(), limits))
        first = await ledger.enter(Ask(tenant=tenant))
        waiting = [asyncio.create_task(ledger.enter(Ask(tenant=tenant))) for _ in range(3)]
        await asyncio.sleep(0.1)
        for task in waiting:
            task.cancel()
        assert all(
            isinstance(it, asyncio.CancelledError)
            for it in await asyncio.gather(*waiting, return_exceptions=True)
        )
        await ledger.give_back(first, used_tokens=None, pressure=NOTHING)
        last = await ledger.enter(Ask(tenant=tenant, wait_s=0))
        await ledger.give_back(last, used_tokens=None, pressure=NOTHING)
        ledger.close()

    asyncio.run(story())


def test_tasks_keep_their_places_alive_and_hear_of_free_ones(tenant):
    """Signs of life for tasks; a waiting task is woken by the one that ends."""

    async def story():
        limits = checked(Limits(in_flight=1, lease_ns=300_000_000))
        ledger = AsyncLimiter(Redis(shared_url(), limits))
        first = await ledger.enter(Ask(tenant=tenant))
        waiting = asyncio.create_task(ledger.enter(Ask(tenant=tenant, wait_s=20)))
        await asyncio.sleep(0.7)
        assert not waiting.done()
        await ledger.give_back(first, used_tokens=None, pressure=NOTHING)
        await ledger.give_back(await waiting, used_tokens=None, pressure=NOTHING)
        ledger.close()

    asyncio.run(story())


def test_a_script_that_the_server_forgot_is_given_again(opened):
    """NOSCRIPT after SCRIPT FLUSH or a restart is no failure."""
    with own_server() as (server, client):
        ledger = opened(server.connection_url, in_flight=1)
        _call(ledger, Ask())
        client.script_flush()
        _call(ledger, Ask())


def test_a_server_that_lost_its_ledger_learns_who_is_in_flight(opened):
    """After a flush, an eviction or a failover the holders' signs of life fill the places again."""
    with own_server() as (server, client):
        ledger = opened(server.connection_url, in_flight=2, lease_ns=600_000_000)
        leaves = [ledger.enter(Ask()) for _ in range(2)]
        client.flushall()
        time.sleep(0.5)
        with pytest.raises(ReachProblem, match="2 of 2 places are taken"):
            ledger.enter(Ask(wait_s=0))
        for leave in leaves:
            ledger.give_back(leave, used_tokens=None, pressure=NOTHING)
        _call(ledger, Ask(wait_s=0))


def test_a_server_that_goes_away_is_named_and_nothing_is_called(opened, tmp_path):
    """No leave while it is down; leave again once it is back on its address."""
    with own_server() as (server, _):
        url, port = server.connection_url, server.port
        ledger = opened(url, in_flight=1)
        _call(ledger, Ask())
    with pytest.raises(ReachProblem) as caught:
        ledger.enter(Ask())
    assert "limiter-unreachable" == caught.value.code
    with server_at(port, tmp_path):
        _call(ledger, Ask())


def test_a_server_that_hangs_is_not_awaited_for_ever(opened, monkeypatch):
    """A time-out is a server that cannot be reached."""
    monkeypatch.setattr("truegreen.limiter.valkey.server.ANSWER_S", 0.2)
    with own_server() as (server, client):
        ledger = opened(server.connection_url, in_flight=1)
        _call(ledger, Ask())
        client.client_pause(3000)
        with pytest.raises(ReachProblem) as caught:
            ledger.enter(Ask())
    assert "limiter-unreachable" == caught.value.code


def test_a_replica_gives_no_leave(opened):
    """Read-only: named as what it is."""
    with own_server() as (first, _), own_server() as (second, client):
        client.replicaof("127.0.0.1", first.port)
        with pytest.raises(ReachProblem) as caught:
            opened(second.connection_url, in_flight=1).enter(Ask())
    assert caught.value.code in {"redis-read-only", "limiter-unreachable"}


def test_a_replica_that_takes_over_goes_on(opened):
    """The old server becomes a replica and refuses; the new one, at its address, gives leave."""
    with own_server() as (server, client), own_server() as (other, _):
        ledger = opened(server.connection_url, in_flight=1)
        _call(ledger, Ask())
        client.replicaof("127.0.0.1", other.port)
        with pytest.raises(ReachProblem):
            ledger.enter(Ask())
        client.replicaof("no", "one")
        _call(ledger, Ask())


def test_a_wrong_password_is_named_and_not_shown(opened):
    """None, a wrong one, the right one."""
    with own_server() as (server, client):
        client.config_set("requirepass", "open:sesame@7")
        for url, found in (
            (server.connection_url, "redis-refused-us"),
            (f"redis://:hidden-word@127.0.0.1:{server.port}", "redis-refused-us"),
        ):
            with pytest.raises(ReachProblem) as caught:
                opened(url, in_flight=1).enter(Ask())
            assert (found, False) == (caught.value.code, "hidden-word" in str(caught.value))
        _call(opened(f"redis://:open%3Asesame%407@127.0.0.1:{server.port}", in_flight=1), Ask())
        bare = f"valkey://127.0.0.1:{server.port}"
        limiter = limiter_at(bare, checked(Limits(in_flight=1)), token=":open:sesame@7")
        limiter.give_back(limiter.enter(Ask()), used_tokens=None)
        limiter.close()


def test_a_user_that_may_do_nothing_but_this_can_use_it(opened):
    """The rights that the documentation names are enough."""
    with own_server() as (server, client):
        rights = f"on >word ~{PREFIX}* -@all +evalsha +eval +get +set +time +hello +client|setinfo"
        client.execute_command("ACL", "SETUSER", "limiter", *rights.split())
        url = f"redis://limiter:word@127.0.0.1:{server.port}"
        _call(opened(url, in_flight=1), Ask())
        client.execute_command("ACL", "SETUSER", "limiter", "-set")
        with pytest.raises(ReachProblem) as caught:
            opened(url, in_flight=1).enter(Ask())
    assert "redis-refused-us" == caught.value.code


def test_a_server_that_may_evict_is_refused(opened):
    """An evicted ledger would be a full one; with noeviction a full server gives no leave."""
    with own_server() as (server, client):
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(ReachProblem, match="allkeys-lru") as caught:
            opened(server.connection_url, in_flight=1).enter(Ask())
        assert "redis-evicts" == caught.value.code
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", "1mb")
        with pytest.raises(ReachProblem) as caught:
            opened(server.connection_url, in_flight=1).enter(Ask())
    assert "redis-full" == caught.value.code


def test_something_else_under_the_name_is_a_failure_not_leave(opened):
    """A list where the ledger should be, and bytes that are no ledger."""
    with own_server() as (server, client):
        for put in (lambda key: client.rpush(key, "x"), lambda key: client.set(key, b"\x01 no ledger")):
            client.flushall()
            put(key_of(Key()))
            with pytest.raises(ReachProblem) as caught:
                opened(server.connection_url, in_flight=1).enter(Ask())
            assert "redis-script-failed" == caught.value.code


def test_names_cannot_run_into_one_another():
    """Tenant and resource are apart, in one slot of a cluster."""
    keys = [key_of(Key(tenant=one, resource=two)) for one, two in (("a", "b/c"), ("a/b", "c"), ("a}", "{b"))]
    assert 3 == len(set(keys))
    assert [(1, 1)] * 3 == [(key.count("{"), key.count("}")) for key in keys]


@pytest.mark.parametrize(
    "url", ["", "http://h:1", "redis", "memcached://h", "redis://h:port", "redis://[::1"]
)
def test_an_address_of_another_kind_is_a_usage_error(url):
    """Before anything is connected."""
    with pytest.raises(UsageProblem) as caught:
        Redis(url, checked(Limits(in_flight=1)))
    assert "bad-redis-address" == caught.value.code


def test_nothing_is_left_behind_but_what_ends_by_itself(opened, tenant):
    """Every key of a ledger has an end."""
    ledger = opened(in_flight=1)
    leave = ledger.enter(Ask(tenant=tenant))
    with pytest.raises(ReachProblem):
        ledger.enter(Ask(tenant=tenant, wait_s=0.05))
    ledger.give_back(leave, used_tokens=3, pressure=NOTHING)
    with redis.Redis.from_url(shared_url()) as client:
        keys = list(client.scan_iter(f"{PREFIX}*{tenant}*"))
        assert keys
        assert [] == [key for key in keys if client.pttl(key) < 0]
