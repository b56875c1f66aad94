"""Updates of optimisers and rates of schedules, in float64. Where PyTorch has none, the formula is written out below in plain Python."""
import json, math
import torch
from torch.optim import lr_scheduler as S

STEPS = 12
START, CUBIC = [1.0, -2.0, 3.0, 0.5], [1.0, 0.5, -0.25, 2.0]


def gradient(p, step):
    """Of sum(c p^3 + (step-1) p)."""
    return [3 * c * x * x + (step - 1) for c, x in zip(CUBIC, p)]


def by_torch(make):
    p = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    c = torch.tensor(CUBIC, dtype=torch.float64)
    optimizer = make([p])
    rows = []
    for step in range(STEPS):
        optimizer.zero_grad()
        (c * p**3 + (step - 1) * p).sum().backward()
        optimizer.step()
        rows.append(p.detach().tolist())
    return rows


def ftrl(alpha, beta, l1, l2, initial):
    """McMahan and others, 2013, Algorithm 1."""
    p, z, n, rows = list(START), [0.0] * 4, [initial] * 4, []
    for step in range(STEPS):
        for i, g in enumerate(gradient(p, step)):
            sigma = (math.sqrt(n[i] + g * g) - math.sqrt(n[i])) / alpha
            z[i] += g - sigma * p[i]
            n[i] += g * g
            sign = math.copysign(1, z[i])
            p[i] = 0.0 if abs(z[i]) <= l1 else -(z[i] - sign * l1) / ((beta + math.sqrt(n[i])) / alpha + l2)
        rows.append(list(p))
    return rows


def lars(rate, trust, momentum, decay):
    """You, Gitman and Ginsburg, 2017, Algorithm 1."""
    p, m, rows = list(START), [0.0] * 4, []
    for step in range(STEPS):
        g = gradient(p, step)
        long, steep = math.hypot(*p), math.hypot(*g)
        local = trust * long / (steep + decay * long) if long and steep else 1.0
        for i in range(4):
            m[i] = momentum * m[i] + rate * local * (g[i] + decay * p[i])
            p[i] -= m[i]
        rows.append(list(p))
    return rows


def average(decay, warm):
    """The average of the parameters under SGD at 0.01; TensorFlow's warm-up."""
    p, a, rows = list(START), list(START), []
    for step in range(STEPS):
        p = [x - 0.01 * g for x, g in zip(p, gradient(p, step))]
        d = min(decay, (1 + step) / (10 + step)) if warm else decay
        a = [d * x + (1 - d) * y for x, y in zip(a, p)]
        rows.append(list(a))
    return rows


def clipped(norm, value):
    """SGD at 0.05 whose gradients are limited in value, then in norm; torch's limit adds 1e-6 to the norm."""
    p, rows = list(START), []
    for step in range(STEPS):
        g = gradient(p, step)
        if value:
            g = [max(-value, min(x, value)) for x in g]
        if norm and math.hypot(*g) > norm:
            g = [x * norm / math.hypot(*g) for x in g]
        p = [x - 0.05 * y for x, y in zip(p, g)]
        rows.append(list(p))
    return rows


O = torch.optim
OPTIMIZERS = {
    "SGD": by_torch(lambda p: O.SGD(p, lr=0.01)),
    "SGD all": by_torch(lambda p: O.SGD(p, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1)),
    "Adam": by_torch(lambda p: O.Adam(p)),
    "Adam all": by_torch(lambda p: O.Adam(p, lr=0.1, betas=(0.5, 0.7), eps=1e-3, weight_decay=0.2)),
    "AdamW": by_torch(lambda p: O.AdamW(p)),
    "AdamW all": by_torch(lambda p: O.AdamW(p, lr=0.1, betas=(0.5, 0.7), eps=1e-3, weight_decay=0.2)),
    "RMSProp": by_torch(lambda p: O.RMSprop(p)),
    "RMSProp momentum": by_torch(lambda p: O.RMSprop(p, lr=0.02, alpha=0.8, eps=1e-3, momentum=0.7, weight_decay=0.1)),
    "RMSProp centered": by_torch(lambda p: O.RMSprop(p, lr=0.02, alpha=0.8, centered=True)),
    "RMSProp all": by_torch(lambda p: O.RMSprop(p, lr=0.02, alpha=0.8, eps=1e-3, momentum=0.7, centered=True, weight_decay=0.1)),
    "Adagrad": by_torch(lambda p: O.Adagrad(p)),
    "Adagrad all": by_torch(lambda p: O.Adagrad(p, lr=0.2, lr_decay=0.3, initial_accumulator_value=0.5, eps=1e-3, weight_decay=0.1)),
    "FTRL": ftrl(0.005, 1, 0, 0, 0),
    "FTRL all": ftrl(0.3, 0.5, 1.5, 0.25, 0.1),
    "LARS": lars(1, 0.001, 0, 0),
    "LARS all": lars(3, 0.02, 0.9, 0.1),
    "EMA": average(0.999, False),
    "EMA warm": average(0.6, True),
    "Clip norm": clipped(2.5, 0),
    "Clip value": clipped(0, 1.5),
    "Clip both": clipped(1.5, 1.25),
}


def by_scheduler(make, lr, n=14):
    optimizer = O.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    s = make(optimizer)
    rates = []
    for _ in range(n):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        s.step()
    return rates


SCHEDULES = {
    "step": by_scheduler(lambda o: S.StepLR(o, 3, 0.5), 0.4),
    "multi-step": by_scheduler(lambda o: S.MultiStepLR(o, [2, 5, 9], 0.3), 0.4),
    "exp": by_scheduler(lambda o: S.ExponentialLR(o, 0.8), 0.4),
    "poly": by_scheduler(lambda o: S.PolynomialLR(o, 10, 2.5), 0.4),
    "line": by_scheduler(lambda o: S.PolynomialLR(o, 10), 0.4),
    "linear": by_scheduler(lambda o: S.LinearLR(o, 0.25, 1, 8), 0.4),
    "linear down": by_scheduler(lambda o: S.LinearLR(o, 1, 0.1, 5), 0.4),
    "inv": by_scheduler(lambda o: S.LambdaLR(o, lambda i: (1 + 0.3 * i) ** -0.75), 0.4),
    "cosine": by_scheduler(lambda o: S.CosineAnnealingLR(o, 13, 0.02), 0.4),
    "one cycle": by_scheduler(lambda o: S.OneCycleLR(o, 0.4, total_steps=15), 0.4),
    "warm-up": by_scheduler(lambda o: S.SequentialLR(o, [S.LinearLR(o, 1 / 4, 1, 3), S.CosineAnnealingLR(o, 9)], [4]), 0.4),
    "warm-up from": by_scheduler(lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.6, 1, 4), S.StepLR(o, 2, 0.5)], [5]), 0.4),
    "constant warm-up": by_scheduler(lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.3, 9), S.ExponentialLR(o, 0.9)], [4]), 0.4),
    "chain": by_scheduler(lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.5, 99), S.StepLR(o, 2, 0.5), S.ExponentialLR(o, 0.7)], [3, 8]), 0.4),
    # Caffe2's policies, from its documentation.
    "hill": [0.4 * (0.2 + 0.8 * i / 3 if i < 3 else max(0.3, (1 + 0.5 * (i - 3)) ** -1.5)) for i in range(14)],
    "alter": [0.4 if i % 5 < 3 else 0.0 for i in range(14)],
    "alter, inactive first": [0.4 if i % 5 >= 2 else 0.0 for i in range(14)],
}


def write(folder):
    rows = lambda table: ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in table.items())
    (folder / "optim.json").write_text(f'{{"torch": "{torch.__version__}", "optimizers": {{\n{rows(OPTIMIZERS)}\n}}, "schedules": {{\n{rows(SCHEDULES)}\n}}}}\n')
