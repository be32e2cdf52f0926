"""What the servers of this folder in Python share: MCP over standard input and output, and nothing but what Python has."""
import json
import sys


def serve(name, tools):
    """tools: name -> (names of its arguments, function of them). What a function raises is the answer, as an error."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        method, params = message["method"], message.get("params") or {}
        if method == "initialize":
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": name, "version": "1.0.0"}}
        elif method == "tools/list":
            result = {"tools": [{"name": tool, "inputSchema": {"type": "object", "properties": {a: {"type": "string"} for a in arguments}}}
                                for tool, (arguments, _) in tools.items()]}
        elif method == "tools/call":
            try:
                text, failed = str(tools[params["name"]][1](**params.get("arguments") or {})), False
            except Exception as e:
                text, failed = "%s: %s" % (type(e).__name__, e), True
            result = {"content": [{"type": "text", "text": text}], "isError": failed}
        else:
            result = {}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
