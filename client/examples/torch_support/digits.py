"""1,797 handwritten digits of 8 by 8 pixels: their origin and licence stand in client/examples/data/README.md."""
import gzip
import pathlib

import torch

FILE = pathlib.Path(__file__).parents[1] / "data" / "digits.csv.gz"
PIXELS, CLASSES = 64, 10
HOLD_OUT = 6  # every sixth is for evaluation


def load():
    """(pixels [1497, 64] from 0.0 to 1.0, labels [1497]) to learn from, and as many of 300 others to be evaluated with."""
    with gzip.open(FILE, "rt") as lines:
        rows = torch.tensor([[int(number) for number in line.split(",")] for line in lines])
    held_out = torch.arange(len(rows)) % HOLD_OUT == 0
    return tuple((part[:, :PIXELS] / 16, part[:, PIXELS]) for part in (rows[~held_out], rows[held_out]))
