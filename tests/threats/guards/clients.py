# SPDX-License-Identifier: Apache-2.0
"""Every way to reach an address, each tried once: ``clients.py HOST ID=PORT …``.

Each way gets a port of its own, so that the listener knows by the port who got through. What a client raises is
printed and swallowed, as careless code does.
"""

import asyncio
import ctypes
import os
import socket
import struct
import subprocess
import sys

LIMIT_S = 2.0
LIMIT = str(int(LIMIT_S))
NODE_FETCH = "fetch('http://%s:%s/', {signal: AbortSignal.timeout(2000)}).catch(e => console.log(e.message))"
NODE_HTTPS = "require('https').get({host: '%s', port: %s, timeout: 2000}, () => 0).on('error', e => console.log(e.message)).on('timeout', function () { this.destroy() })"
CHILD = "import socket; socket.create_connection(('%s', %s), timeout=2)"


def openai(host, port):
    """The SDK in a thread's way."""
    from openai import OpenAI

    client = OpenAI(base_url=f"http://{host}:{port}/v1", api_key="k", max_retries=0, timeout=LIMIT_S)
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


def openai_async(host, port):
    """The SDK in asyncio's way."""
    from openai import AsyncOpenAI

    async def ask():
        client = AsyncOpenAI(base_url=f"http://{host}:{port}/v1", api_key="k", max_retries=0, timeout=LIMIT_S)
        await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])

    asyncio.run(ask())


def anthropic(host, port):
    """The other SDK."""
    from anthropic import Anthropic

    client = Anthropic(base_url=f"http://{host}:{port}", api_key="k", max_retries=0, timeout=LIMIT_S)
    client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "hi"}])


def httpx2(host, port):
    """What the SDKs use."""
    import httpx2

    httpx2.get(f"http://{host}:{port}/", timeout=LIMIT_S)


def requests(host, port):
    """What most scripts use."""
    import requests

    requests.get(f"http://{host}:{port}/", timeout=LIMIT_S)


def urllib(host, port):
    """The standard library."""
    from urllib.request import urlopen

    urlopen(f"http://{host}:{port}/", timeout=LIMIT_S)


def aiohttp(host, port):
    """Another stack."""
    import aiohttp

    async def ask():
        timeout = aiohttp.ClientTimeout(total=LIMIT_S)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(f"http://{host}:{port}/"):
            pass

    asyncio.run(ask())


async def _streams(host, port):
    _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), LIMIT_S)
    writer.close()


def asyncio_(host, port):
    """The loop's own transports."""
    asyncio.run(_streams(host, port))


def uvloop(host, port):
    """A loop in C that opens sockets by itself."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_streams(host, port))


def raw_socket(host, port):
    """The module below ``socket``."""
    import _socket

    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    sock.settimeout(LIMIT_S)
    sock.connect((host, port))


def grpc(host, port):
    """A stack in C++."""
    import grpc

    with grpc.insecure_channel(f"{host}:{port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=0.5)


def curl_cffi(host, port):
    """libcurl inside Python."""
    from curl_cffi import requests

    requests.get(f"http://{host}:{port}/", timeout=LIMIT_S)


def _address(host, port):
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)


def ctypes_(host, port):
    """libc's own function."""
    libc = ctypes.CDLL(None, use_errno=True)
    sock = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    print("connect", libc.connect(sock, _address(host, port), 16), ctypes.get_errno())


def syscall(host, port):
    """The call below the function."""
    libc = ctypes.CDLL(None, use_errno=True)
    sock = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    number = {"x86_64": 42, "aarch64": 203}[os.uname().machine]
    print("syscall", libc.syscall(number, sock, _address(host, port), 16), ctypes.get_errno())


def fast_open(host, port):
    """Data before the handshake is done."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.settimeout(LIMIT_S)
        sock.sendto(b"GET / HTTP/1.0\r\n\r\n", socket.MSG_FASTOPEN, (host, port))


def _child(command, environment=None):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    print(done.returncode, (done.stdout + done.stderr).strip()[-200:])


def curl(host, port):
    """A program in C."""
    _child(["curl", "-sS", "-m", LIMIT, f"http://{host}:{port}/"])


def child_python(host, port):
    """Another interpreter."""
    _child([sys.executable, "-c", CHILD % (host, port)])


def isolated_python(host, port):
    """Another interpreter that reads no environment."""
    _child([sys.executable, "-I", "-S", "-c", CHILD % (host, port)])


def emptied_environment(host, port):
    """A child that got no environment at all."""
    _child([sys.executable, "-c", CHILD % (host, port)], environment={})


def node_fetch(host, port):
    """Another language."""
    _child(["node", "-e", NODE_FETCH % (host, port)])


def node_https(host, port):
    """Another language's other stack."""
    _child(["node", "-e", NODE_HTTPS % (host, port)])


def static(host, port):
    """A program without any library."""
    _child([os.environ["STATIC_CLIENT"], "tcp", host, str(port)])


def datagram(host, port):
    """A datagram from a program without any library."""
    _child([os.environ["STATIC_CLIENT"], "udp", host, str(port)])


def io_uring(host, port):
    """A connection without the call."""
    _child([os.environ["STATIC_CLIENT"], "uring", host, str(port)])


WAYS = {
    "openai": openai,
    "openai-async": openai_async,
    "anthropic": anthropic,
    "httpx2": httpx2,
    "requests": requests,
    "urllib": urllib,
    "aiohttp": aiohttp,
    "asyncio": asyncio_,
    "raw-socket": raw_socket,
    "uvloop": uvloop,
    "grpc": grpc,
    "curl-cffi": curl_cffi,
    "ctypes": ctypes_,
    "syscall": syscall,
    "child-python": child_python,
    "isolated-python": isolated_python,
    "emptied-environment": emptied_environment,
    "curl": curl,
    "node-fetch": node_fetch,
    "node-https": node_https,
    "static": static,
    "datagram": datagram,
    "io-uring": io_uring,
    "fast-open": fast_open,
    "same-port": ctypes_,
}

if __name__ == "__main__":
    HOST = sys.argv[1]
    for asked in sys.argv[2:]:
        name, _, number = asked.partition("=")
        try:
            WAYS[name](HOST, int(number))
            print(name, "came back")
        except Exception as err:
            print(name, type(err).__name__, str(err)[:300])
        sys.stdout.flush()
