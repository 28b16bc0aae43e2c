"""An image for the pods that the reconciler's children run: each program does what its caller can observe."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.archive import with_entrypoint

IMAGE = "localhost/tools:e2e"

ENTRY = "/opt/modelgate/bin/entry"
PROGRAMS = {
    # For AIM: `dry-run --format=json` describes the model, and `SOURCE FOLDER` downloads it.
    ENTRY: """#!/opt/modelgate/bin/python
import json, os, pathlib, sys
if sys.argv[1] == "dry-run":
    print("INFO starting [dry run]")
    metadata = {"engine": "vllm", "gpu": "MI300X", "gpu_count": 1, "metric": os.environ["AIM_METRIC"]}
    profile = {"metadata": metadata, "engine_args": {"tensor-parallel-size": 1}, "env_vars": {"VLLM_USE_V1": "0"}}
    model = {"name": "org/tiny", "source": "hf://org/tiny", "size_gb": 0.5}
    print(json.dumps([{"profile": profile, "models": [model]}]))
    sys.exit()
sys.exit("missing" in sys.argv[1] or not pathlib.Path(sys.argv[2]).is_dir())
""",
    # It asks the server once, for the folder of the experiment.
    "/opt/modelgate/bin/genai-bench": """#!/opt/modelgate/bin/python
import sys, urllib.request
def flag(name):
    return sys.argv[sys.argv.index(name) + 1]
url = flag("--api-base") + "/" + flag("--experiment-folder-name")
print(urllib.request.urlopen(url, timeout=10).read().decode())
""",
    # A server of one sentence; other paths do not exist.
    "/opt/modelgate/bin/serve": """#!/opt/modelgate/bin/python
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(404 if "nowhere" in self.path else 200)
        self.end_headers()
        self.wfile.write(os.environ["SENTENCE"].encode())
http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
""",
}


def tools(archive: Path) -> bytes:
    """A docker-archive of the image, over the image of Modelgate, which has Python."""
    return with_entrypoint(archive, [ENTRY], IMAGE, PROGRAMS)
