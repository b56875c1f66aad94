#!/usr/bin/env python3
"""Packs the text of Newton's Opticks, which every copy of Go carries, for embedding.

usage: make.py [FILE]

FILE is the text; by default that of the Go toolchain on the path. Running it again writes the same bytes (the gzip header carries neither a time nor a
name), given the same zlib.
"""
import gzip, pathlib, subprocess, sys

if len(sys.argv) > 1:
    source = pathlib.Path(sys.argv[1])
else:
    root = subprocess.run(["go", "env", "GOROOT"], check=True, capture_output=True, text=True).stdout.strip()
    source = pathlib.Path(root, "src", "testdata", "Isaac.Newton-Opticks.txt")
text = source.read_bytes()
(pathlib.Path(__file__).resolve().parent / "opticks.txt.gz").write_bytes(gzip.compress(text, 9, mtime=0))
