"""Measure what the site adds while many people talk with chatbots at once, and write docs/generated/chats.md.

A chatbot behind HTTP on this machine sends its only word after a second. Each person sends a message, waits until both
responses are there, picks one, and pauses for two to six seconds. The time beyond that second is that of the site: its
transactions, and the way to the chatbot and back. People, chatbot, site and database share the cores of one machine;
PostgreSQL runs without fsync.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import numpy as np
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from load import cpu_seconds

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from tests.databases import Databases, postgresql  # noqa: E402
from tests.support.chat_campaigns import HELPFUL, TERN, open_chat_campaign  # noqa: E402
from tests.support.ports import find_port  # noqa: E402

from dissensus.store.core import schema  # noqa: E402
from dissensus.store.core.database import connect  # noqa: E402
from dissensus.workflows.platform.platform import Platform  # noqa: E402

PAGE = HERE.parent.parent / "docs" / "generated" / "chats.md"
SECRET = "a secret of no consequence, for measuring alone"
LATENCY_S, TURNS = 1.0, 6
THOUGHT_S = (2.0, 6.0)
"""Pause between a pick and the next message; people take longer."""
PEOPLE = (8, 32)


def main() -> None:
    """Measure both databases, or be the chatbot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chatbot", type=int, metavar="PORT", help=argparse.SUPPRESS)
    port = parser.parse_args().chatbot
    if port is not None:
        uvicorn.run(chatbot(), port=port, log_level="critical")
        return
    rows = [row for backend in ("sqlite", "postgresql") for row in _backend(backend)]
    PAGE.write_text(page(rows), encoding="utf-8")


def chatbot() -> FastAPI:
    """Return a chat completions server with a latency of one second."""
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def complete() -> StreamingResponse:
        async def stream() -> AsyncIterator[str]:
            await asyncio.sleep(LATENCY_S)
            for choice in (
                {"delta": {"content": "Yes."}, "finish_reason": None},
                {"delta": {}, "finish_reason": "stop"},
            ):
                yield f"data: {json.dumps({'choices': [{'index': 0, **choice}]})}\n\n"
            yield "data: [DONE]\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    return app


def _backend(backend: str) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder, postgresql() if backend == "postgresql" else nullcontext() as server:
        databases = None if server is None else Databases(server)
        for n in PEOPLE:
            url = f"sqlite:///{folder}/{n}.db" if databases is None else databases.blank()
            database = connect(url)
            schema.upgrade(database)
            bot, site = find_port(), find_port()
            endpoint = {"url": f"http://127.0.0.1:{bot}/v1", "model": "slow"}
            slow = {
                **TERN,
                "kind": "openai_compatible",
                "request_policy": {"max_concurrent": 2 * n},
                "openai_compatible": endpoint,
            }
            chat = {"chatbots": [slow], "modes": [{**HELPFUL, "allow_edits": False}], "max_turns": 2 * TURNS}
            key = str(open_chat_campaign(Platform(database), chat=chat).key)
            database.dispose()
            words = ["-m", "dissensus", "serve", "--port", str(site)]
            settings = {"DATABASE_URL": url, "SECRET_KEY": SECRET, "CHATBOT_HOSTS": f"127.0.0.1:{bot}"}
            with (
                _running([str(Path(__file__)), "--chatbot", str(bot)], {}, bot),
                _running(words, settings, site) as process,
            ):
                before = cpu_seconds(process.pid)
                over = asyncio.run(_talk_all(n, f"http://127.0.0.1:{site}", key))
                cpu = (cpu_seconds(process.pid) - before) / len(over)
            yield {"database": backend, "people": n, "over": over, "cpu": cpu}


async def _talk_all(n: int, address: str, key: str) -> list[float]:
    """Return the seconds of each turn beyond the latency of the chatbot."""
    delays = await asyncio.gather(*(_talk(address, key, np.random.default_rng(i)) for i in range(n)))
    return [one for every in delays for one in every]


async def _talk(address: str, key: str, thinks: np.random.Generator) -> list[float]:
    over = []
    async with httpx.AsyncClient(base_url=address, timeout=60, headers={"accept": "application/json"}) as http:
        await http.get("/c/pilot", params={"key": key})
        await http.post("/c/pilot", data={"key": key, "language": "en"})
        await http.post("/c/pilot/consent", data={"purpose": ["rating"]})
        token = (await http.get("/rate")).json()["form_token"]
        chat_id = str(uuid4())
        await http.post("/chat/begin", data={"form_token": token, "id": chat_id, "mode": "helpful"})
        await asyncio.sleep(thinks.uniform(0, THOUGHT_S[1]))
        for _ in range(TURNS):
            exchange, started = str(uuid4()), time.perf_counter()
            message = {"form_token": token, "id": exchange, "text": "Is it?"}
            answer = await http.post(f"/chat/{chat_id}/messages", data=message)
            assert answer.status_code == 303, answer.text
            async with http.stream("GET", f"/chat/{exchange}/responses") as events:
                async for line in events.aiter_lines():
                    if line == "event: over":
                        break
            over.append(time.perf_counter() - started - LATENCY_S)
            picked = await http.post(f"/chat/{exchange}/pick", data={"form_token": token, "strength": 2})
            assert picked.status_code == 303, picked.text
            await asyncio.sleep(thinks.uniform(*THOUGHT_S))
    return over


@contextmanager
def _running(words: list[str], settings: dict[str, str], port: int) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {**os.environ, **{f"DISSENSUS_{name}": value for name, value in settings.items()}}
    with subprocess.Popen(
        [sys.executable, *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    assert process.poll() is None
                    time.sleep(0.05)
            yield process
        finally:
            process.terminate()


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page of results."""
    lines = [
        "<!-- made by benchmarks/web/chats.py; do not edit -->",
        "| database | people at once | turns | more than the second, p50 ms | p99 ms | slowest ms | CPU ms a turn |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        ms = 1000 * np.array(row["over"])
        times = (np.percentile(ms, 50), np.percentile(ms, 99), ms.max(), 1000 * row["cpu"])
        cells = " | ".join(f"{one:.0f}" for one in times)
        lines.append(f"| {row['database']} | {row['people']} | {len(ms)} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
