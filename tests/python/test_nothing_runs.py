"""Nothing that arrives is executed."""
import os
import re
import unittest

import numpy as np
import torch

import stagewire

PACKAGE = os.path.dirname(stagewire.__file__)
MARK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "executed")


class Bomb:
    def __reduce__(self):
        return os.mkdir, (MARK,)


def bomb():
    import pickle
    return pickle.dumps(Bomb(), protocol=0)


class Nothing(unittest.TestCase):
    def test_the_package_has_no_word_for_executing_what_arrived(self):
        forbidden = re.compile(r"pickle|\bdill\b|marshal|shelve|torch\.load|__import__|\b(eval|exec|compile|loads)\(")
        allowed = {"errors.py": "json.loads(text)"}
        for name in sorted(os.listdir(PACKAGE)):
            if not name.endswith(".py"):
                continue
            with open(os.path.join(PACKAGE, name)) as file:
                text = file.read()
            text = text.replace(allowed.get(name, "\0"), "")
            with self.subTest(name):
                self.assertIsNone(forbidden.search(text))

    def test_a_bomb_stays_text_bytes_tensor_or_extension(self):
        bytes_ = bomb()
        self.assertIn(b"mkdir", bytes_)
        forms = {"text": bytes_.decode(), "blob": bytes_, "tensor": torch.frombuffer(bytearray(bytes_), dtype=torch.uint8)}
        for name in ("py.int", "py.set", "py.complex", "py.dict", "py.object", "torch.dtype", "torch.device", "torch.Size",
                     "numpy.ndarray", "numpy.generic", "numpy.dtype", "os.system"):
            forms[name] = stagewire.Extension(name, bytes_.decode())
            forms[name + " of bytes"] = stagewire.Extension(name, bytes_)
        with stagewire.Endpoint("run") as endpoint, stagewire.Client(endpoint.address) as client:
            for step, (name, value) in enumerate(forms.items()):
                with self.subTest(name):
                    endpoint.publisher.publish_metrics("bombs", step, {"value": value})
                    found = client.get_metrics("bombs", step, timeout=10).value["value"]
                    if name == "tensor":
                        self.assertTrue(torch.equal(found, value))
                    elif isinstance(value, stagewire.Extension) and isinstance(found, stagewire.Extension):
                        self.assertEqual(found, value)
                    elif not isinstance(value, stagewire.Extension):
                        self.assertEqual(found, value)
            endpoint.publisher.publish_tensors("bombs", 0, {"t": np.frombuffer(bytes_, dtype=np.uint8)})
            client.get_tensors("bombs", 0, timeout=10)
        self.assertFalse(os.path.exists(MARK))


if __name__ == "__main__":
    unittest.main()
