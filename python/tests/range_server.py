"""An HTTP server on loopback that gives ranges of files in memory, counts what it gives, and misbehaves on
demand."""
import http.server
import threading
import time


class RangeServer:
    """Used as a context. `fault(server, handler, first, data)` may answer in place of the server: it returns
    True if it has."""

    def __init__(self, files):
        self.files = files
        self.fault = None
        self.reset()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def do_HEAD(self):
                outer.answer(self)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def reset(self):
        self.lock = threading.Lock()
        self.requests = self.bytes = self.under_way = self.most_under_way = 0
        self.ranges = []

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_address[1]}/{name}"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler):
        data = self.files.get(handler.path[1:])
        with self.lock:
            self.requests += 1
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            if data is None:
                self.send(handler, 404, b"")
                return
            first, end = self.range_of(handler, len(data))
            if self.fault and self.fault(self, handler, first, data[first:end]):
                return
            self.send(handler, 206, data[first:end], f"bytes {first}-{end - 1}/{len(data)}")
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with self.lock:
                self.under_way -= 1

    @staticmethod
    def range_of(handler, size):
        first, _, last = handler.headers.get("Range", f"bytes=0-{size - 1}").partition("=")[2].partition("-")
        if not first:
            return max(size - int(last), 0), size
        return int(first), min(int(last) + 1, size) if last else size

    def send(self, handler, status, body, content_range=None, length=None):
        """`length` other than the body's cuts the answer off."""
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        handler.send_header("Accept-Ranges", "bytes")
        if content_range:
            handler.send_header("Content-Range", content_range)
        handler.end_headers()
        if handler.command == "GET":
            with self.lock:
                self.bytes += len(body)
                self.ranges.append(content_range)
            handler.wfile.write(body)
        if length is not None:
            handler.close_connection = True


def times(count, fault):
    """A fault that happens to `count` requests, after which all is well."""
    left = [count]

    def once(server, handler, first, data):
        with server.lock:
            left[0] -= 1
            wrong = left[0] >= 0
        return wrong and fault(server, handler, first, data)

    return once


def error_500(server, handler, first, data):
    server.send(handler, 500, b"no")
    return True


def cut_off(server, handler, first, data):
    server.send(handler, 206, data[: len(data) // 2], f"bytes {first}-{first + len(data) - 1}/{first + len(data)}",
                len(data))
    return True


def short(server, handler, first, data):
    """Fewer bytes than asked for, and says that these are all."""
    server.send(handler, 206, data[:-1], f"bytes {first}-{first + len(data) - 2}/{first + len(data)}")
    return True


def whole(server, handler, first, data):
    """Takes no notice of ranges."""
    server.send(handler, 200, server.files[handler.path[1:]])
    return True


def gone(server, handler, first, data):
    """Ends the connection without an answer."""
    handler.close_connection = True
    handler.connection.shutdown(2)
    return True


def slow(seconds):
    def fault(server, handler, first, data):
        time.sleep(seconds)
        return False

    return fault


def altered(server, handler, first, data):
    wrong = bytearray(data)
    wrong[len(wrong) // 2] ^= 1
    server.send(handler, 206, bytes(wrong), f"bytes {first}-{first + len(data) - 1}/{first + len(data)}")
    return True
