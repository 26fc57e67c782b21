"""A webhook that refuses pushes to main: run `python webhook.py 8787` and leave it running."""

import http.server, json, re, sys  # noqa: E401, I001


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["content-length"])))
        to_main = re.search(r"\bpush\b.*\bmain\b", event["tool_input"].get("command", ""))
        answer = {"decision": "block", "reason": "no push to main: open a pull request"}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer if to_main else {}).encode())


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Hook).serve_forever()
