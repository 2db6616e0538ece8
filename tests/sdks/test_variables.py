# SPDX-License-Identifier: Apache-2.0
"""Whether a client's first request arrives where its variable points; its package is installed for it.

The slow lane alone: packages come from their registry, one folder for all.
"""

import http.server
import os
import subprocess
import sys
import threading

import pytest

from truegreen.guards import sdks

pytestmark = pytest.mark.slow
HI = "[{'role': 'user', 'content': 'hi'}]"
FIRST_REQUESTS = {
    "AzureOpenAI of openai (Python)": (
        f"import openai; openai.AzureOpenAI(max_retries=0).chat.completions.create(model='m', messages={HI})",
        "/openai/deployments/m/chat/completions",
    ),
    "google-genai (Python)": (
        "from google import genai; client = genai.Client(); client.models.generate_content(model='m', contents='hi')",
        ":generateContent",
    ),
    "cohere (Python)": (f"import cohere; cohere.ClientV2().chat(model='m', messages={HI})", "/v2/chat"),
    "groq (Python)": (
        f"import groq; groq.Groq(max_retries=0).chat.completions.create(model='m', messages={HI})",
        "/openai/v1/chat/completions",
    ),
    "boto3 bedrock-runtime": (
        "import boto3; boto3.client('bedrock-runtime').converse(modelId='m', messages=[{'role': 'user', 'content': [{'text': 'hi'}]}])",
        "/model/m/converse",
    ),
    "ollama (Python)": (f"import ollama; ollama.chat(model='m', messages={HI})", "/api/chat"),
    "langchain-openai": (
        "from langchain_openai import ChatOpenAI; ChatOpenAI(model='m', max_retries=0).invoke('hi')",
        "/chat/completions",
    ),
    "langchain-anthropic": (
        "from langchain_anthropic import ChatAnthropic; ChatAnthropic(model='m', max_retries=0).invoke('hi')",
        "/v1/messages",
    ),
    "llama-index-llms-openai": (
        "from llama_index.llms.openai import OpenAI; OpenAI(model='gpt-4o', max_retries=0).complete('hi')",
        "/chat/completions",
    ),
    "litellm": (
        f"import litellm; litellm.completion(model='openai/m', num_retries=0, messages={HI})",
        "/chat/completions",
    ),
}
BESIDE = {
    "OPENAI_API_VERSION": "2024-10-21",
    "AWS_DEFAULT_REGION": "us-east-1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LANGSMITH_TRACING": "false",
}
ROWS = [row for row in sdks.table().sdk if row.run == "first-request"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder with all packages."""
    folder = tmp_path_factory.mktemp("packages")
    names = sorted({row.package for row in ROWS})
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *names]
    if (
        subprocess.run(
            [sys.executable, "-m", "pip", "--version"], capture_output=True, check=False
        ).returncode
        != 0
    ):
        command = [
            "uv",
            "pip",
            "install",
            "--quiet",
            "--python",
            sys.executable,
            "--target",
            str(folder),
            *names,
        ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except OSError as err:
        pytest.skip(f"NOT RUN: neither pip nor uv is here: {err}")
    if done.returncode != 0:
        pytest.skip(f"NOT RUN: the packages could not be installed: {done.stderr.strip()[-300:]}")
    return folder


@pytest.fixture
def endpoint():
    """Notes the paths that it is asked for, and answers 400."""
    paths = []

    class Notes(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers.get("content-length") or 0))
            paths.append(self.path)
            self.send_response(400)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST  # noqa: N815 - the name that the class asks for

        def log_message(self, *_):
            """Nobody reads it."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Notes) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", paths
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_first_request_arrives(row, packages, endpoint, tmp_path):
    """By that variable alone, with a stand-in for the key."""
    address, paths = endpoint
    provider = sdks.provider(row.provider)
    text, path = FIRST_REQUESTS[row.name]
    keys = dict.fromkeys(provider.keys, sdks.STAND_IN)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(packages),
        **BESIDE,
        **keys,
    }
    done = subprocess.run(
        [sys.executable, "-c", text], env={**environment, row.variable: address},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert [] != [asked for asked in paths if path in asked], done.stderr[-1000:]
