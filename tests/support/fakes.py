"""Peers that are no endpoint, or a bad one: each answers a connection in its own way."""
import socket
import ssl
import threading
from concurrent import futures

import grpc

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
SETTINGS_TAKEN = b"\0\0\0\4\1\0\0\0\0"
PING_TAKEN = b"\0\0\10\6\1\0\0\0\0stgwdoct"
GOAWAY = b"\0\0\10\7\0\0\0\0\0" + b"\0" * 8


def keep_quiet(connection):
    while connection.recv(4096):
        pass


def close(_):
    pass


def say(*words):
    """Says that after it was spoken to, and then listens."""
    def answer(connection):
        connection.recv(4096)
        connection.sendall(b"".join(words))
        keep_quiet(connection)
    return answer


def say_at_once(*words):
    def answer(connection):
        connection.sendall(b"".join(words))
        keep_quiet(connection)
    return answer


speak_http1 = say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
speak_ssh = say_at_once(b"SSH-2.0-OpenSSH_9.2\r\n")
speak_http2 = say_at_once(SETTINGS, SETTINGS_TAKEN, PING_TAKEN)
speak_http2_without_pings = say_at_once(SETTINGS)
send_away = say_at_once(SETTINGS, GOAWAY)


class Peer:
    """Listens on loopback, or on a Unix socket, and hands each connection to `answer`, in TLS with a context."""

    def __init__(self, answer, context=None, path=None):
        self.answer, self.context = answer, context
        self.socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.socket.bind(path or ("127.0.0.1", 0))
        self.socket.listen(16)
        self.endpoint = "unix:" + path if path else "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.serve, args=(connection,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def serve(self, connection):
        try:
            with connection if not self.context else self.context.wrap_socket(connection, server_side=True) as spoken:
                self.answer(spoken)
        except (OSError, ssl.SSLError):
            pass

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for thread in self.threads:
            thread.join(20)


def tls(folder, name, alpn=("h2",), asks=True):
    """The context of a server that shows NAME.pem of the folder."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder(name + ".pem"), folder(name + ".key"))
    context.load_verify_locations(folder("ca.pem"))
    context.verify_mode = ssl.CERT_REQUIRED if asks else ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


class Grpc:
    """A gRPC server whose methods answer bytes as they are: {"/service/Method": function of (request, context)}."""

    def __init__(self, methods):
        self.server = grpc.server(futures.ThreadPoolExecutor(4))
        self.server.add_generic_rpc_handlers((Methods(methods),))
        self.endpoint = "127.0.0.1:%d" % self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def stop(self):
        self.server.stop(0).wait()


class Methods(grpc.GenericRpcHandler):
    def __init__(self, methods):
        self.methods = methods

    def service(self, details):
        method = self.methods.get(details.method)
        return method and grpc.unary_unary_rpc_method_handler(method)
