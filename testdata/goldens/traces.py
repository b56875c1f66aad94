"""Loss traces: small networks train for 100 steps, in float64 and in float32."""
import json, math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import formula

STEPS, BATCH, CLASSES, RATE = 100, 32, 10, 1e-3

# Seeds are far apart, so that no two tensors share a stream. Each kind of tensor counts up from its own.
PARAMETER, PATTERN, LABEL, NOISE = 1000, 2000, 3000, 4000
PATTERN_SCALE, NOISE_SCALE = 0.5, 2.0


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, CLASSES))


def cnn():
    def block(cin, cout):
        return nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(), nn.MaxPool2d(2)

    return nn.Sequential(*block(1, 8), *block(8, 16), nn.Flatten(), nn.Linear(784, CLASSES))


# For each model its maker, one scale for each parameter, and the free parameters. A scale is the power of two next to
# PyTorch's own 2/sqrt(fan-in); None leaves what the module starts with: 1 for the scale of a batch-norm, 0 for its shift.
# A free parameter is the bias of a convolution in front of a batch-norm. It has no effect on the loss: its gradient is 0
# but for rounding, which Adam blows up to steps of any size up to the rate. So nothing is said of where it ends.
MODELS = {
    "mlp": (mlp, {"1.weight": 2**-4, "1.bias": 2**-4, "3.weight": 2**-3, "3.bias": 2**-3}, ()),
    "cnn": (cnn, {"0.weight": 2**-1, "0.bias": 2**-1, "1.weight": None, "1.bias": None,
                  "4.weight": 2**-2, "4.bias": 2**-2, "5.weight": None, "5.bias": None,
                  "9.weight": 2**-4, "9.bias": 2**-4}, ("0.bias", "4.bias")),
}


def initialise(model, scales):
    """Fills the parameters and returns, for the file, how each was filled."""
    rows = []
    for i, (name, p) in enumerate(model.named_parameters()):
        row, scale = {"name": name, "shape": list(p.shape)}, scales[name]
        if scale is None:
            row["constant"] = p.flatten()[0].item()
        else:
            row["seed"], row["scale"] = PARAMETER + i, scale
            p.data.copy_(torch.from_numpy(formula.fill(p.shape, PARAMETER + i, scale)))
        rows.append(row)
    return rows


def batch(k):
    """The images and labels of step k: noise over a pattern for each class, 7x7 squares of 4x4 pixels."""
    y = formula.labels(BATCH, LABEL + k, CLASSES)
    squares = np.stack([formula.fill((1, 7, 7), PATTERN + c, PATTERN_SCALE) for c in range(CLASSES)])
    patterns = squares.repeat(4, axis=2).repeat(4, axis=3)
    return formula.fill((BATCH, 1, 28, 28), NOISE + k, NOISE_SCALE) + patterns[y], y


def trace(kind, dtype):
    """Trains one network and returns the contents of its file."""
    make, scales, free = MODELS[kind]
    model = make().to(dtype)
    parameters = initialise(model, scales)
    opt = torch.optim.Adam(model.parameters(), RATE)
    losses = []
    for k in range(STEPS):
        x, y = batch(k)
        opt.zero_grad()
        loss = F.cross_entropy(model(torch.from_numpy(x).to(dtype)), torch.from_numpy(y))
        loss.backward()
        opt.step()
        losses.append(loss.item())
    for row, p in zip(parameters, model.parameters()):
        if row["name"] in free:
            continue
        wide = p.detach().double()
        row["sum"], row["squares"] = wide.sum().item(), wide.square().sum().item()
    buffers = [{"name": n, "values": b.tolist()} for n, b in model.named_buffers() if b.dim()]
    return {
        "torch": torch.__version__, "model": kind, "dtype": {torch.float64: "f64", torch.float32: "f32"}[dtype],
        "steps": STEPS, "batch": BATCH, "classes": CLASSES, "rate": RATE,
        "pattern": {"seed": PATTERN, "scale": PATTERN_SCALE}, "noise": {"seed": NOISE, "scale": NOISE_SCALE}, "label": {"seed": LABEL},
        "parameters": parameters, "buffers": buffers, "losses": losses,
    }


# The other networks. Each has a shape of inputs, which are noise over a pattern for each class, or none, if it reads tokens.
class Recurrent(nn.Module):
    def __init__(self, cell, **options):
        super().__init__()
        self.rnn, self.head = cell(6, 12, batch_first=True, **options), nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class Basic(nn.Module):
    """torchvision's BasicBlock."""
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout)
        self.conv2, self.bn2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout)
        self.downsample = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout)) if cin != cout else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(self.downsample(x) + y)


def resnet():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), Basic(8, 8, 1), Basic(8, 16, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


class GPT(nn.Module):
    VOCABULARY, LENGTH, SIZE = 20, 12, 16

    def __init__(self):
        super().__init__()
        block = lambda: nn.TransformerEncoderLayer(self.SIZE, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
        self.tok, self.pos = nn.Embedding(self.VOCABULARY, self.SIZE), nn.Embedding(self.LENGTH, self.SIZE)
        self.blocks = nn.ModuleList([block(), block()])
        self.norm, self.head = nn.LayerNorm(self.SIZE), nn.Linear(self.SIZE, self.VOCABULARY)

    def forward(self, x):
        h, mask = self.tok(x) + self.pos.weight, nn.Transformer.generate_square_subsequent_mask(self.LENGTH, dtype=self.pos.weight.dtype)
        for b in self.blocks:
            h = b(h, src_mask=mask, is_causal=True)
        return self.head(self.norm(h))


# For each its maker, optimiser, size of a batch, shape of an input and number of classes.
OTHERS = {
    "resnet": (resnet, lambda p: torch.optim.SGD(p, 0.005, momentum=0.9, weight_decay=5e-4), 16, (3, 12, 12), 10),
    "lstm": (lambda: Recurrent(nn.LSTM, num_layers=2), lambda p: torch.optim.Adam(p, 0.01), 16, (8, 6), 5),
    "gru": (lambda: Recurrent(nn.GRU), lambda p: torch.optim.Adam(p, 0.01), 16, (8, 6), 5),
    "gpt": (GPT, lambda p: torch.optim.AdamW(p, 0.003, weight_decay=0.1), 8, None, GPT.VOCABULARY),
}


def fan_in_scales(model):
    """The power of two next to 2/sqrt(fan-in) for every parameter but those of norms."""
    scales = {}
    for prefix, m in model.named_modules():
        for name, p in m.named_parameters(prefix, recurse=False):
            norm = isinstance(m, (nn.BatchNorm2d, nn.LayerNorm))
            scales[name] = None if norm else 2.0 ** round(math.log2(2 / math.sqrt(p[0].numel() if p.dim() > 1 else 16)))
    return scales


def samples(k, n, shape, classes):
    y = formula.labels(n, LABEL + k, classes)
    patterns = np.stack([formula.fill(shape, PATTERN + c, NOISE_SCALE) for c in range(classes)])
    return formula.fill((n, *shape), NOISE + k, NOISE_SCALE) + patterns[y], y


def tokens(k, n):
    """Each token follows from the last one in one of four ways; the first follows from 0."""
    ways, t = formula.labels(n * (GPT.LENGTH + 1), LABEL + k, 4).reshape(n, -1), np.zeros((n, GPT.LENGTH + 2), np.int64)
    for i in range(GPT.LENGTH + 1):
        t[:, i + 1] = (5 * t[:, i] + ways[:, i]) % GPT.VOCABULARY
    return t[:, 1:-1], t[:, 2:]


def other(kind, dtype, order=0):
    """order shuffles each batch, which changes nothing but the order of sums."""
    make, optimiser, n, shape, classes = OTHERS[kind]
    model = make().to(dtype)
    parameters = initialise(model, fan_in_scales(model))
    opt, losses = optimiser(model.parameters()), []
    for k in range(STEPS):
        x, y = samples(k, n, shape, classes) if shape else tokens(k, n)
        shuffled = np.random.RandomState(1000 * order + k).permutation(n) if order else np.arange(n)
        x, y = torch.from_numpy(x[shuffled]), torch.from_numpy(y[shuffled])
        logits = model(x.to(dtype) if shape else x)
        loss = F.cross_entropy(logits.flatten(0, -2), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return {
        "torch": torch.__version__, "model": kind, "dtype": {torch.float64: "f64", torch.float32: "f32"}[dtype],
        "batch": n, "shape": list(shape or (GPT.LENGTH,)), "classes": classes,
        "pattern": {"seed": PATTERN, "scale": NOISE_SCALE}, "noise": {"seed": NOISE, "scale": NOISE_SCALE}, "label": {"seed": LABEL},
        "parameters": parameters, "losses": losses,
    }


def write(folder):
    for kind in (*MODELS, *OTHERS):
        for dtype in (torch.float64, torch.float32):
            t = trace(kind, dtype) if kind in MODELS else other(kind, dtype)
            if kind in OTHERS and dtype == torch.float32:
                runs = np.array([t["losses"]] + [other(kind, dtype, order)["losses"] for order in range(1, 6)])
                t["distance"] = np.abs(runs - np.array(exact)).max()
            exact = t["losses"]
            path = folder / f"{kind}-{t['dtype']}.json"
            path.write_text(json.dumps(t, indent=1) + "\n")
            print(f"{path.name}: loss {t['losses'][0]:.4f} to {t['losses'][-1]:.4f}")
