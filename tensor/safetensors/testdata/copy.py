"""Reads a safetensors file by the Python library and writes it again: copy.py FROM TO."""
import sys
from safetensors import safe_open
from safetensors.numpy import save_file

with safe_open(sys.argv[1], framework="np") as f:
    tensors = {name: f.get_tensor(name) for name in f.keys()}
    metadata = f.metadata()
save_file(tensors, sys.argv[2], metadata)
print(len(tensors), "tensors")
