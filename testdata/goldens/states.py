"""State dicts of small models, as torch users save them, with an input and what each model makes of it.

For each model MODEL.safetensors is the state dict, and MODEL-run.safetensors has "in", "eval" and "train", the outputs in either mode, and for each
running statistic "after/NAME", its value after the pass in train mode. The tied model is saved by save_model, which writes a shared tensor once.
"""
import torch
import torch.nn as nn
from safetensors.torch import save_file, save_model
from modules import Block


class Transformer(nn.Module):
    """A language model of 16 steps over 50 words."""

    def __init__(self, tied=False, size=24):
        super().__init__()
        self.tok, self.pos = nn.Embedding(50, size), nn.Embedding(16, size)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(size, 4, 2 * size, dropout=0.0, activation="gelu", batch_first=True, norm_first=True) for _ in range(1 if tied else 2))
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, 50, bias=not tied)
        if tied:
            self.head.weight = self.tok.weight

    def forward(self, x):
        steps = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(steps)
        x = self.tok(x) + self.pos(torch.arange(steps))
        for b in self.blocks:
            x = b(x, src_mask=mask, is_causal=True)
        return self.head(self.norm(x))


class ResNet(nn.Module):
    """Two stages of two blocks, with torchvision's names."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.maxpool = nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.MaxPool2d(3, 2, 1)
        self.layer1, self.layer2 = nn.Sequential(Block(8, 8, 1), Block(8, 8, 1)), nn.Sequential(Block(8, 16, 2), Block(16, 16, 1))
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(self.maxpool(torch.relu(self.bn1(self.conv1(x))))))
        return self.fc(x.mean((2, 3)))


MODELS = {"transformer": Transformer, "tied": lambda: Transformer(tied=True, size=8), "resnet": ResNet}


def write(folder):
    for name, make in MODELS.items():
        torch.manual_seed(5)
        model = make()
        x = torch.randn(4, 3, 16, 16) if name == "resnet" else torch.randint(50, (3, 12))
        for p in model.parameters():  # no bias is 0, and no scale 1
            p.data += 0.1 * torch.randn_like(p)
        with torch.no_grad():
            for _ in range(3 if name == "resnet" else 0):
                model(torch.randn_like(x) * 2 + 0.5)  # moves the running statistics
            if name == "tied":
                save_model(model, folder / f"{name}.safetensors")
            else:
                save_file(model.state_dict(), folder / f"{name}.safetensors")
            out = {"in": x, "eval": model.eval()(x), "train": model.train()(x)}
            out |= {f"after/{key}": b for key, b in model.named_buffers() if b.is_floating_point()}
            save_file(out, folder / f"{name}-run.safetensors")
