"""Loss traces: two small networks train for 100 steps, in float64 and in float32."""
import json
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


def write(folder):
    for kind in MODELS:
        for dtype in (torch.float64, torch.float32):
            t = trace(kind, dtype)
            path = folder / f"{kind}-{t['dtype']}.json"
            path.write_text(json.dumps(t, indent=1) + "\n")
            print(f"{path.name}: loss {t['losses'][0]:.4f} to {t['losses'][-1]:.4f}")
