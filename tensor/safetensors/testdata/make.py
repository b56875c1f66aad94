"""Writes official.safetensors with the format's own library (safetensors 0.8.0, torch 2.15): run it in this folder."""
import torch
from safetensors.torch import save_file

save_file(
    {
        "ä.重み": torch.tensor([[1.5, -2.0], [float("inf"), 0.0]]),
        "half": torch.tensor([1.0, -0.5], dtype=torch.float16),
        "brain": torch.tensor([3.0], dtype=torch.bfloat16),
        "mask": torch.tensor([True, False, True]),
        "bytes": torch.tensor([0, 255], dtype=torch.uint8),
        "steps": torch.tensor(2**53 + 1),
        "index": torch.tensor([-7], dtype=torch.int32),
        "double": torch.tensor([0.1], dtype=torch.float64),
        "empty": torch.zeros(0, 3),
        "small": torch.tensor([-1], dtype=torch.int8),
    },
    "official.safetensors",
    metadata={"format": "pt", "note": 'größer "als" \n 0'},
)
