"""Pin the base images of Dockerfile and compose.yaml by the digests that their registries have now.

Tags move: a digest makes a build repeatable, and must be renewed for security fixes. Run the script again to renew it.
"""

import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ("Dockerfile", "compose.yaml")
IMAGE = re.compile(r"^(FROM |\s*image: )([\w./:-]+:[\w.-]+)(@sha256:[0-9a-f]{64})?", re.MULTILINE)
KINDS = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
REGISTRY = "https://registry-1.docker.io"
TIMEOUT_S = 20


def find_digest(image: str, registry: str = REGISTRY) -> str:
    """Return the digest of an image for all platforms (OCI distribution, section on pulling manifests)."""
    name, tag = image.split(":")
    path = f"{registry}/v2/{name if '/' in name else f'library/{name}'}/manifests/{tag}"
    headers = {"accept": ", ".join(KINDS)}
    try:
        response = _head(path, headers)
    except urllib.error.HTTPError as error:
        if error.code != 401:
            raise
        headers["authorization"] = f"Bearer {_fetch_token(error.headers['www-authenticate'])}"
        response = _head(path, headers)
    digest = response["docker-content-digest"] or ""
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        raise ValueError(f"the registry has no digest for {image}")
    return digest


def _head(url: str, headers: dict[str, str]) -> "dict[str, str | None]":
    request = urllib.request.Request(url, headers=headers, method="HEAD")
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        return {"docker-content-digest": response.headers["docker-content-digest"]}


def _fetch_token(challenge: str) -> str:
    fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    query = urllib.parse.urlencode({name: fields[name] for name in ("service", "scope") if name in fields})
    with urllib.request.urlopen(f"{fields['realm']}?{query}", timeout=TIMEOUT_S) as response:
        return str(json.load(response)["token"])


def pin_images(root: Path = ROOT, registry: str = REGISTRY) -> None:
    """Write the digests into the files; raise before anything is written if one is not found."""
    texts = {path: path.read_text("utf-8") for path in (root / name for name in FILES)}
    digests = {match[2]: find_digest(match[2], registry) for text in texts.values() for match in IMAGE.finditer(text)}
    for path, text in texts.items():
        path.write_text(IMAGE.sub(lambda match: f"{match[1]}{match[2]}@{digests[match[2]]}", text), "utf-8")
    for image, digest in digests.items():
        print(f"{image}@{digest}")


if __name__ == "__main__":
    try:
        pin_images(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT, *sys.argv[2:3])
    except (OSError, ValueError) as error:
        sys.exit(f"Nothing was pinned: {error}. A registry must be reachable.")
