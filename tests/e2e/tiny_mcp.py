"""An MCP server with one tool, `echo`, which fails when asked to; what it was told goes into the file named."""

import json
import os
import sys
from typing import Any

ECHO = {
    "name": "echo",
    "description": "Says the text again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def main() -> None:
    with open(sys.argv[1], "a") as log:
        log.write(json.dumps({"env": dict(os.environ), "cwd": os.getcwd()}) + "\n")
        for line in sys.stdin:
            log.write(line)
            log.flush()
            asked = json.loads(line)
            if "id" in asked:
                print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}), flush=True)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    match asked["method"]:
        case "initialize":
            version = asked["params"]["protocolVersion"]
            server = {"name": "tiny", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {"tools": [ECHO]}
        case "tools/call":
            text = asked["params"]["arguments"]["text"]
            return {"content": [{"type": "text", "text": f"echo: {text}"}], "isError": text == "fail"}
    return {}


if __name__ == "__main__":
    main()
