"""HTTP/2 by hand: what no client library would send."""
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
INITIAL_WINDOW = 4


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(value):
    """A string of HPACK, not compressed: below 127 bytes in one, else with its length behind."""
    value = value.encode() if isinstance(value, str) else value
    size, head = len(value), b""
    if size < 127:
        return bytes([size]) + value
    size -= 127
    head = b"\x7f"
    while size >= 128:
        head += bytes([size % 128 + 128])
        size //= 128
    return head + bytes([size]) + value


def header(name, value):
    return b"\x00" + text(name) + text(value)


def request_headers(path, more=b"", scheme="http", te="trailers"):
    return b"".join(header(*pair) for pair in (
        (":method", "POST"), (":scheme", scheme), (":path", path), (":authority", "abuse"),
        ("content-type", "application/grpc"), ("te", te))) + more


def headers(stream, block, flags=END_STREAM):
    """However long: what doesn't fit into HEADERS goes on in CONTINUATIONs."""
    parts = [block[i:i + 16384] for i in range(0, len(block), 16384)]
    ends = [0] * (len(parts) - 1) + [END_HEADERS]
    return b"".join(frame(CONTINUATION if i else HEADERS, end | (0 if i else flags), stream, part)
                    for i, (part, end) in enumerate(zip(parts, ends)))


def call(stream, path, message=None, flags=END_STREAM):
    """HEADERS, and DATA with the message where there is one."""
    if message is None:
        return frame(HEADERS, END_HEADERS | flags, stream, request_headers(path))
    body = b"\x00" + struct.pack(">I", len(message)) + message
    return frame(HEADERS, END_HEADERS, stream, request_headers(path)) + frame(DATA, flags, stream, body)


def connect(target, greet=True, settings=b"", context=None):
    host, port = target.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=120)
    if context:
        connection = context.wrap_socket(connection)
    if greet:
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
    return connection


def setting(key, value):
    return struct.pack(">HI", key, value)


def read_frames(connection):
    """(kind, stream, payload) of each, until the other side is done with it."""
    heard = b""
    while True:
        while len(heard) >= 9 and len(heard) >= 9 + int.from_bytes(heard[:3], "big"):
            size = int.from_bytes(heard[:3], "big")
            yield heard[3], int.from_bytes(heard[5:9], "big"), heard[9:9 + size]
            heard = heard[9 + size:]
        try:
            more = connection.recv(65536)
        except ConnectionError:
            return
        if not more:
            return
        heard += more


def drain(connection):
    """Reads until the other side is done with it."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    connection.close()
