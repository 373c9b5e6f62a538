"""A scripted language model that speaks the Messages API.

A script is a generator: it is handed the first request, yields a reply, and is handed the next request, so that what
it says can depend on what came back. When it ends, every further request is answered with `LAST_WORD`.

Source: https://docs.anthropic.com/en/api/messages-streaming, and what Claude Code 2.1.197 asks for.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_hex
from typing import Any

LAST_WORD = "All done."
USAGE = {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


@dataclass(frozen=True)
class Call:
    """A tool the model wants run."""

    tool: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """What the model answers: text, then tool calls. With `status` it is an API error instead."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    status: int = 200


@dataclass(frozen=True)
class Request:
    """What the client asked."""

    body: Mapping[str, Any]

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(tool["name"] for tool in self.body.get("tools") or ())

    @property
    def first_words(self) -> str:
        """The first user message: for a subagent, its task."""
        return next((words(m["content"]) for m in self.body.get("messages", ()) if m["role"] == "user"), "")

    @property
    def all_words(self) -> str:
        """Everything the model would read, tool definitions aside."""
        return "\n".join(
            [words(self.body.get("system")), *(words(m["content"]) for m in self.body.get("messages", ()))]
        )

    @property
    def results(self) -> tuple[str, ...]:
        """The tool results that came with this request, each as the model reads it."""
        last = next((m for m in reversed(self.body.get("messages", [])) if _has_results(m)), None)
        return tuple(words(b.get("content")) for b in last["content"] if b.get("type") == "tool_result") if last else ()


Story = Generator[Reply, Request, None]
Script = Callable[[Request], Story]


def call(tool: str, **arguments: Any) -> Reply:
    """A reply that is one tool call."""
    return Reply(calls=(Call(tool, arguments),))


def say(text: str) -> Reply:
    """A reply in words, which ends the turn."""
    return Reply(text=text)


def talk(*lines: str) -> Script:
    """A script without tool calls: one line a prompt."""

    def script(_: Request) -> Story:
        for line in lines:
            yield say(line)

    return script


def words(content: Any) -> str:
    """The text in a message's content, tool results and tool references included."""
    if isinstance(content, str):
        return content
    found = []
    for block in content or ():
        match block.get("type"):
            case "text":
                found.append(block["text"])
            case "tool_result":
                found.append(words(block.get("content")))
            case "tool_reference":
                found.append(block["tool_name"])
    return "\n".join(found)


def _has_results(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)


@dataclass
class Model:
    """The model of one session. `agents` are the scripts of subagents, by words that stand in their task."""

    script: Script
    agents: Mapping[str, Script] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    """Those that the scripts were asked, in order; side requests without tools (titles) are not among them."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, Story] = {}

    def answer(self, request: Request) -> Reply:
        """The next reply of the script this request belongs to.

        Anything else a script raises is said aloud to the client, so that it stands in the transcript.
        """
        if not request.tools:
            return say("ok")
        with self._lock:
            self.requests.append(request)
            name = next((words for words in self.agents if words in request.first_words), "")
            try:
                if name in self._running:
                    return self._running[name].send(request)
                self._running[name] = (self.agents[name] if name else self.script)(request)
                return next(self._running[name])
            except StopIteration:
                return say(LAST_WORD)
            except Exception as error:
                return say(f"the script failed: {error!r}")

    def message_of(self, reply: Reply) -> dict[str, Any]:
        """The reply in the API's shape."""
        blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text or not reply.calls else []
        for wanted in reply.calls:
            tool_id = f"toolu_{token_hex(12)}"
            blocks.append({"type": "tool_use", "id": tool_id, "name": wanted.tool, "input": dict(wanted.input)})
        return {
            "id": f"msg_{token_hex(12)}",
            "type": "message",
            "role": "assistant",
            "model": "claude-scripted",
            "content": blocks,
            "stop_reason": "tool_use" if reply.calls else "end_turn",
            "stop_sequence": None,
            "usage": USAGE,
        }

    def serve(self, listening: socket.socket) -> ThreadingHTTPServer:
        """Answer on a socket that already listens, until the returned server is shut down and closed."""
        door = type("Door", (_Door,), {"model": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), door, bind_and_activate=False)
        server.socket.close()
        server.socket = listening
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server


def stream_of(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The server-sent events that carry a message."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": message["usage"]}
    yield {"type": "message_stop"}


class _Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: Any) -> None:
        """Nothing: stderr belongs to the test."""

    def do_HEAD(self) -> None:
        self._send(200, b"")

    def do_GET(self) -> None:
        self._send(404, b"{}")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if "count_tokens" in self.path:
            return self._send(200, json.dumps({"input_tokens": len(raw) // 4}).encode())
        if not self.path.startswith("/v1/messages"):
            return self._send(404, b"{}")
        request = Request(json.loads(raw))
        reply = self.model.answer(request)
        if reply.status != 200:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": reply.text or "no"}}
            return self._send(reply.status, json.dumps(error).encode())
        message = self.model.message_of(reply)
        if not request.body.get("stream"):
            return self._send(200, json.dumps(message).encode())
        events = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in stream_of(message)]
        self._send(200, "".join(events).encode(), "text/event-stream")

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.send_header("request-id", f"req_{token_hex(12)}")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True  # Esc hangs up in the middle of an answer
