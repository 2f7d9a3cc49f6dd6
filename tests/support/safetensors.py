"""The file format safetensors, read and written from its public rules alone."""
import json
import struct

BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
        "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
        "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}


class Wrong(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Wrong(what)


def without_duplicates(pairs):
    need(len(dict(pairs)) == len(pairs), "a key stands twice")
    return dict(pairs)


def whole(number):
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def bytes_of(dtype, shape):
    need(dtype in BITS, f"dtype {dtype}")
    bits = BITS[dtype]
    for dimension in shape:
        need(whole(dimension), f"shape {shape}")
        bits *= dimension
    need(bits % 8 == 0, "a part of a byte")
    return bits // 8


def read(data):
    """({name: (dtype, shape, bytes)}, metadata); Wrong for whatever breaks a rule."""
    need(len(data) >= 8, "no size")
    size, = struct.unpack("<Q", data[:8])
    need(size <= 100_000_000, "header too large")
    need(size <= len(data) - 8, "cut off")
    text = data[8:8 + size].decode("utf-8")
    need(text.startswith("{"), "no {")
    header = json.loads(text.rstrip(" "), object_pairs_hook=without_duplicates)
    need(text.rstrip(" ").endswith("}"), "padded with something else than blanks")
    body = data[8 + size:]
    metadata = header.pop("__metadata__", {})
    need(all(isinstance(value, str) for value in metadata.values()), "metadata is text")
    at, tensors = 0, {}
    for name, info in sorted(header.items(), key=lambda item: tuple(item[1]["data_offsets"])):
        need(set(info) == {"dtype", "shape", "data_offsets"}, f"members {info}")
        begin, end = info["data_offsets"]
        need(whole(begin) and whole(end) and begin == at and end >= begin, f"hole or overlap at {name}")
        need(end - begin == bytes_of(info["dtype"], info["shape"]), f"size of {name}")
        tensors[name] = (info["dtype"], info["shape"], body[begin:end])
        at = end
    need(at == len(body), "bytes that belong to nobody")
    return tensors, metadata


def write(tensors, metadata=None):
    """A file of {name: (dtype, shape, bytes)}, in their order."""
    header, body = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    return with_header(json.dumps(header), body)


def with_header(text, body=b""):
    head = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(head)) + head + body
