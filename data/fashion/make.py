#!/usr/bin/env python3
"""Cuts the embedded sample out of the whole of Fashion-MNIST: its first 6,000 training images and first 1,000 test images.

usage: make.py [SOURCE]

SOURCE holds the four original idx files, gzipped; by default where Debian's package dataset-fashion-mnist puts them.
The four files are written beside this script under their original names, as idx files whose counts say how many items
are left. Running it again writes the same bytes (the gzip header carries neither a time nor a name), given the same zlib.
"""
import gzip, pathlib, struct, sys

IMAGES, LABELS = 0x803, 0x801  # idx magic numbers: unsigned bytes with three axes, and with one

source = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/datasets/fashion-mnist")
here = pathlib.Path(__file__).resolve().parent


def cut(name, magic, keep):
    """Copies the first `keep` items of one idx file, with `keep` in place of its count."""
    whole = gzip.decompress((source / name).read_bytes())
    found, count = struct.unpack(">II", whole[:8])
    if found != magic or count < keep:
        raise SystemExit(f"{source / name}: magic {found:#x} and {count} items, want {magic:#x} and at least {keep}")
    axes = whole[8:16] if magic == IMAGES else b""
    item = 1
    for i in range(0, len(axes), 4):
        item *= struct.unpack(">I", axes[i : i + 4])[0]
    start = 8 + len(axes)
    part = struct.pack(">II", magic, keep) + axes + whole[start : start + keep * item]
    (here / name).write_bytes(gzip.compress(part, 9, mtime=0))


for split, keep in (("train", 6000), ("t10k", 1000)):
    cut(f"{split}-images-idx3-ubyte.gz", IMAGES, keep)
    cut(f"{split}-labels-idx1-ubyte.gz", LABELS, keep)
