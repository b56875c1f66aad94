#!/usr/bin/env python3
"""Writes the goldens beside this script: what PyTorch computes, for our tests to compare with. README.md describes them.

usage: make.py        needs numpy and torch (pip install torch)
"""
import os, pathlib

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: the order of its sums depends on the number of threads
import torch
import modules, ops, optim, traces

torch.set_num_threads(1)
here = pathlib.Path(__file__).resolve().parent
traces.write(here)
ops.write(here)
modules.write(here)
states.write(here)
optim.write(here)
