# SPDX-License-Identifier: Apache-2.0
"""A child in C asks: curl, started as a shell would start it."""

import json
import os
import subprocess

URL = os.environ["MODEL_BASE_URL"] + "/chat/completions"
BODY = {"model": "m", "seed": 5, "messages": [{"role": "user", "content": "the first word"}]}
HEADERS = ("Content-Type: application/json", f"Authorization: Bearer {os.environ['MODEL_API_KEY']}")

if __name__ == "__main__":
    options = [word for header in HEADERS for word in ("-H", header)]
    command = ["curl", "-sS", *options, "-d", json.dumps(BODY), URL]
    done = subprocess.run(command, capture_output=True, check=True, timeout=30)
    print(json.dumps([json.loads(done.stdout)["choices"][0]["message"]["content"]]))
