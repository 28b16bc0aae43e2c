"""Push the image of an OCI layout, an archive, to a registry over plain HTTP: ``push.py ARCHIVE URL NAME``."""

import json
import sys
import tarfile
import urllib.request
from urllib.parse import urljoin


def send(method: str, url: str, content: bytes = b"", media_type: str = "application/octet-stream") -> str:
    """Send a request; returns its Location."""
    headers = {"Content-Type": media_type}
    request = urllib.request.Request(url, content, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return urljoin(url, reply.headers.get("Location", ""))


def push(archive: str, registry: str, name: str) -> None:
    with tarfile.open(archive) as layout:
        files = {each.name: layout.extractfile(each).read() for each in layout if each.isfile()}
    (entry,) = json.loads(files["index.json"])["manifests"]
    blobs = {path.rpartition("/")[2]: content for path, content in files.items() if path.startswith("blobs/")}
    manifest = blobs.pop(entry["digest"].removeprefix("sha256:"))
    for digest, content in blobs.items():
        place = send("POST", f"{registry}/v2/{name}/blobs/uploads/")
        send("PUT", f"{place}{'&' if '?' in place else '?'}digest=sha256:{digest}", content)
    send("PUT", f"{registry}/v2/{name}/manifests/{entry['digest']}", manifest, entry["mediaType"])


if __name__ == "__main__":
    push(*sys.argv[1:])
