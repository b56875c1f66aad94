#!/usr/bin/env python3
"""Loads our files into the models of states.py and compares outputs, for TestPyTorchLoads of package layers.

usage: load.py FOLDER   where FOLDER has MODEL.safetensors and MODEL-run.safetensors, as states.py writes them but for "train"

Exits with 77 where torch or safetensors is not installed.
"""
import pathlib, sys

try:
    import torch
    from safetensors.torch import load_file, load_model
except ImportError as e:
    print(e)
    sys.exit(77)
import states

folder = pathlib.Path(sys.argv[1])
for name, make in states.MODELS.items():
    model, file = make(), folder / f"{name}.safetensors"
    if name == "tied":
        load_model(model, file, strict=True)
    else:
        model.load_state_dict(load_file(file), strict=True)
    run = load_file(folder / f"{name}-run.safetensors")
    with torch.no_grad():
        off = (model.eval()(run["in"]) - run["eval"]).abs().max().item()
    print(f"{name}: outputs differ by {off:.2g} at most")
    if not off <= 1e-5:
        sys.exit(1)
