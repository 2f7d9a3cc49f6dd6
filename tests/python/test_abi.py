"""What the package believes of the C headers is what a C compiler makes of them."""
import ctypes
import os
import re
import subprocess
import tempfile
import unittest

from stagewire import _abi, _values

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STRUCTS = {
    "sw_error": _abi.Error, "sw_tensor_view": _abi.TensorView, "sw_named_tensor": _abi.NamedTensor,
    "sw_bytes": _abi.Bytes, "struct sw_value_extension": _abi.Extension, "sw_value": _abi.Value,
    "sw_entry": _abi.Entry, "sw_address": _abi.Address, "sw_channel_policy": _abi.ChannelPolicy,
    "sw_attachment": _abi.Attachment, "sw_endpoint_options": _abi.EndpointOptions,
    "sw_client_options": _abi.ClientOptions, "sw_pull": _abi.Pull, "sw_tensor_request": _abi.TensorRequest,
    "sw_exchange": _abi.Exchange, "sw_channel_info": _abi.ChannelInfo, "sw_lease_info": _abi.LeaseInfo,
    "sw_security_info": _abi.SecurityInfo, "sw_hand_over_info": _abi.HandOverInfo, "sw_info": _abi.Info, "sw_watch_filter": _abi.WatchFilter,
    "sw_watch_event": _abi.WatchEvent, "sw_pipeline_options": _abi.PipelineOptions,
}
HEADERS = ("interrupt", "endpoint", "client", "pipeline")


def numbers():
    """C expressions, and what the package has for them."""
    yield from ((f"SW_{name}", number) for number, name in enumerate(_abi.STATUSES))
    for name, (number, size) in _abi.DTYPES.items():
        yield f"SW_{name}", number
        yield f"sw_dtype_size(SW_{name})", size
    for number, name in enumerate(("NULL", "BOOL", "INTEGER", "NUMBER", "TEXT", "BLOB", "TENSOR", "LIST", "TUPLE",
                                   "DICT", "EXTENSION")):
        yield f"SW_VALUE_{name}", number
        yield f"SW_VALUE_{name}", getattr(_abi, name)
    yield from ((f"SW_{name.upper()}", number) for name, number in _abi.KINDS.items())
    yield from ((f"SW_CLOSE_{name.upper()}", number) for name, number in _abi.CLOSE_REASONS.items())
    yield from ((f"SW_WATCH_{name}", number) for name, number in
                zip(("NEW", "OLDEST_HELD", "POSITIONS"), _abi.WATCH_STARTS.values()))
    yield from ((f"SW_EVENT_{name.upper()}", number) for name, number in _abi.EVENT_TYPES.items())
    yield "SW_VALUE_DEPTH_MAX", _abi.DEPTH_MAX
    yield "sizeof(sw_value)", _values.VALUE_SIZE
    yield "sizeof(sw_entry)", _values.ENTRY_SIZE
    yield "offsetof(sw_value, number)", 8
    yield "offsetof(sw_value, extension.value)", 24
    yield "offsetof(sw_value, tensor.rank)", 12
    yield "offsetof(sw_entry, value)", _values._PAIR.size


def layout():
    for name, struct in STRUCTS.items():
        yield f"sizeof({name})", ctypes.sizeof(struct)
        for field, *_ in struct._fields_:
            if field != "of":  # the union, which C has without a name
                yield f"offsetof({name}, {field})", getattr(struct, field).offset
    for member in (name for name, _ in _abi._Union._fields_):
        yield f"offsetof(sw_value, {member})", getattr(_abi.Value, member).offset


def compiled(expressions):
    lines = "".join(f'    printf("%lld\\n", (long long)({expression}));\n' for expression in expressions)
    source = "#include <stddef.h>\n#include <stdio.h>\n" + "".join(
        f"#include <stagewire/{header}.h>\n" for header in HEADERS) + "int main(void) {\n" + lines + "}\n"
    library = os.environ["STAGEWIRE_LIBRARY"]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "layout")
        subprocess.run(["cc", "-x", "c", "-", "-o", program, *(
            f"-I{ROOT}/{side}/include" for side in ("proto", "service", "client")), "-x", "none", library,
            f"-Wl,-rpath,{os.path.dirname(library)}"], input=source, text=True, check=True)
        return [int(line) for line in subprocess.check_output([program], text=True).split()]


class Abi(unittest.TestCase):
    def test_sizes_offsets_and_numbers_are_those_of_the_headers(self):
        believed = [*numbers(), *layout()]
        found = compiled([expression for expression, _ in believed])
        for (expression, belief), fact in zip(believed, found):
            with self.subTest(expression):
                self.assertEqual(belief, fact)

    def test_every_function_is_declared_with_as_many_arguments_as_it_has(self):
        declared = preprocessed()
        for name, (_, *arguments) in _abi.FUNCTIONS.items():
            with self.subTest(name):
                self.assertEqual(len(arguments), declared[name])


def preprocessed():
    """Function: how many arguments it takes, of all public headers."""
    text = subprocess.run(["cc", "-E", "-P", *(f"-I{ROOT}/{side}/include" for side in ("proto", "service", "client")),
                           "-"], input="".join(f"#include <stagewire/{header}.h>\n" for header in HEADERS), text=True,
                          check=True, stdout=subprocess.PIPE).stdout
    text = re.sub(r"\w+ \(\*(\w+)\)\([^()]*\)", r"void *\1", text)  # a function that is passed
    found = {}
    for name, arguments in re.findall(r"\b(sw_\w+)\(([^()]*)\);", text):
        found[name] = 0 if arguments.strip() == "void" else arguments.count(",") + 1
    return found


if __name__ == "__main__":
    unittest.main()
