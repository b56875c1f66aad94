"""Values and gradients of single operations on small inputs, in float64, special values included."""
import json, math
import torch
import torch.nn.functional as F
import formula

inf, nan = math.inf, math.nan
SPECIAL = [nan, inf, -inf, 0.0, -0.0, 5e-324, -2.5e-310, 1.7976931348623157e308, -1e300, 1.0, -1.0, 0.5, -3.25, 710.0, -745.5, 20.0]
NAMES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16",
         torch.int64: "i64", torch.int32: "i32", torch.uint8: "u8", torch.bool: "bool"}

cases = []


def number(v):
    """JSON has no NaN and no infinity: those become strings."""
    if isinstance(v, float) and not math.isfinite(v):
        return "NaN" if math.isnan(v) else "Inf" if v > 0 else "-Inf"
    return v


def stored(t):
    t = t.detach()
    flat = (t.double() if t.is_floating_point() else t).flatten().tolist()
    return {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data": [number(int(v) if t.dtype == torch.bool else v) for v in flat]}


def x(*shape, seed, scale=4.0, shift=0.0):
    """Float64 inputs on a grid of 1/1024, so that they are short to write down."""
    return (torch.from_numpy(formula.fill(shape, seed, scale)) * 1024).round() / 1024 + shift


def f64(values):
    return torch.tensor(values, dtype=torch.float64)


def i64(values):
    return torch.tensor(values, dtype=torch.int64)


def case(op, name, inputs, f, **attrs):
    """Runs f on the inputs and keeps all that came out. dy[j] weighs out[j]: dx = d(sum over j of dy[j]*out[j])/dx."""
    floating = [t.dtype == torch.float64 for t in inputs]
    live = [t.clone().requires_grad_(fl) for t, fl in zip(inputs, floating)]
    outs = f(*live)
    outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
    row = {"op": op, "name": name, "attrs": attrs, "in": [stored(t) for t in inputs], "out": [stored(t) for t in outs]}
    smooth = [t for t in outs if t.requires_grad]
    if smooth:
        dys = [x(*t.shape, seed=9000 + j, scale=2.0) if t.requires_grad else None for j, t in enumerate(outs)]
        row["dy"] = [None if d is None else stored(d) for d in dys]
        wrt = [t for t in live if t.requires_grad]
        grads = iter(torch.autograd.grad(smooth, wrt, [d for d in dys if d is not None], allow_unused=True))
        found = [next(grads) if t.requires_grad else None for t in live]
        row["dx"] = [None if g is None else stored(g) for g in found]
    assert not any(c["op"] == op and c["name"] == name for c in cases), (op, name)
    cases.append(row)


def distinct(t):
    assert t.unique().numel() == t.numel(), "ties would make the gradient a matter of taste"
    return t


def pairs(values):
    a, b = torch.meshgrid(f64(values), f64(values), indexing="ij")
    return [a.flatten(), b.flatten()]


def elementwise():
    binary = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum, "minimum": torch.minimum}
    compare = {"lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge, "eq": torch.eq, "ne": torch.ne}
    for op, f in (binary | compare).items():
        away = 3.0 if op == "div" else 0.0  # a divisor near zero would only test rounding
        case(op, "same shape", [x(3, 5, seed=1), x(3, 5, seed=2, shift=away)], f)
        case(op, "row", [x(3, 5, seed=3), x(5, seed=4, shift=away)], f)
        case(op, "outer", [x(2, 1, 3, seed=5), x(4, 1, seed=6, shift=away)], f)
        case(op, "scalar", [x(seed=7), x(2, 3, seed=8, shift=away)], f)
        case(op, "empty", [x(0, 3, seed=9), x(1, 3, seed=10, shift=away)], f)
        case(op, "special", pairs([nan, inf, -inf, 0.0, -0.0, 1.5, -2.0, 1e308, 5e-324]), f)
        if op != "div":
            case(op, "integers", [i64([3, -7, 2**40, 0]), i64([-3, -7, 5, 1])], f)

    where = lambda c, a, b: torch.where(c.bool(), a, b)
    case("where", "same shape", [(x(3, 4, seed=11) > 0), x(3, 4, seed=12), x(3, 4, seed=13)], where)
    case("where", "broadcast", [(x(3, 1, seed=14) > 0), x(4, seed=15), x(seed=16)], where)
    case("where", "not taken", [torch.tensor([True, False, True, False]), f64([1, nan, nan, inf]), f64([nan, 2, inf, -0.0])], where)

    unary = {"neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu,
             "log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt}
    for op, f in unary.items():
        shift = 2.5 if op in ("log", "sqrt", "rsqrt") else 0.0
        case(op, "matrix", [x(3, 7, seed=17, shift=shift)], f)
        case(op, "rank 0", [x(seed=18, shift=shift)], f)
        case(op, "empty", [x(2, 0, seed=19)], f)
        case(op, "special", [f64(SPECIAL)], f)

    halves = f64([0.0, -0.0, 1.0, 1.00390625, 1.01171875, 65504.0, 65520.0, 3e-8, 2.0**-133, 1e-40, 3.4e38, 3.5e38, nan, inf, -inf])
    for t in (torch.float32, torch.bfloat16, torch.float16):
        case("cast", f"f64 to {NAMES[t]}", [halves], lambda a: a.detach().to(t), to=NAMES[t])
    case("cast", "f64 to i64", [f64([2.7, -2.7, 0.0, -0.5, 1e15])], lambda a: a.detach().long(), to="i64")
    case("cast", "f64 to bool", [f64([0.0, -0.0, 0.5, nan, -inf])], lambda a: a.detach().bool(), to="bool")
    case("cast", "i64 to f64", [i64([3, -7, 2**53 + 1, 0])], lambda a: a.double(), to="f64")


def reduce():
    for op, f in {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}.items():
        for name, axes, keep in (("all", [0, 1, 2], False), ("last", [2], False), ("first", [0], False), ("outer two", [0, 1], False),
                                 ("ends", [0, 2], False), ("kept", [1], True), ("ends kept", [0, 2], True)):
            case(op, name, [distinct(x(2, 3, 4, seed=22))], lambda a: f(a, dim=axes, keepdim=keep), axes=axes, keep=keep)
        case(op, "length 1", [x(3, 1, seed=23)], lambda a: f(a, dim=[1]), axes=[1], keep=False)
        case(op, "rank 0", [x(seed=24)], lambda a: f(a), axes=[], keep=False)
        case(op, "no rows", [x(0, 3, seed=25)], lambda a: f(a, dim=[1]), axes=[1], keep=False)
        special = [[1, nan, 2], [inf, 1, 2], [inf, -inf, 0], [-inf, -inf, -inf], [nan, inf, nan]]
        case(op, "special", [f64(special)], lambda a: f(a, dim=[1]), axes=[1], keep=False)
    case("sum", "nothing", [x(2, 0, seed=26)], lambda a: a.sum(1), axes=[1], keep=False)
    case("mean", "nothing", [x(2, 0, seed=26)], lambda a: a.mean(1), axes=[1], keep=False)
    case("sum", "cancelling", [f64([[1e16, 1, -1e16], [1, 1e16, -1e16]])], lambda a: a.sum(0), axes=[0], keep=False)
    case("max", "ties share evenly", [f64([[2, 5, 5], [5, 1, 5]])], lambda a: a.amax((0, 1)), axes=[0, 1], keep=False)

    for name, axis, keep in (("last", 2, False), ("first", 0, False), ("middle kept", 1, True)):
        case("argmax", name, [distinct(x(2, 3, 4, seed=22))], lambda a: a.argmax(axis, keepdim=keep), axis=axis, keep=keep)
    case("argmax", "first of equals", [f64([[1, 3, 3], [2, 2, 2], [-0.0, 0.0, 0.0]])], lambda a: a.argmax(1), axis=1, keep=False)
    case("argmax", "special", [f64([[1, nan, 2], [inf, 1, inf], [-inf, -inf, -inf], [nan, inf, nan]])], lambda a: a.argmax(1), axis=1, keep=False)


def products():
    def matmul(name, a, b, ta=False, tb=False):
        case("matmul", name, [a, b], lambda p, q: (p.mT if ta else p) @ (q.mT if tb else q), transpose_a=ta, transpose_b=tb)

    matmul("plain", x(3, 4, seed=31), x(4, 5, seed=32))
    matmul("transposed left", x(4, 3, seed=33), x(4, 5, seed=34), ta=True)
    matmul("transposed right", x(3, 4, seed=35), x(5, 4, seed=36), tb=True)
    matmul("both transposed", x(4, 3, seed=37), x(5, 4, seed=38), ta=True, tb=True)
    matmul("square", x(4, 4, seed=39), x(4, 4, seed=40), tb=True)
    matmul("batched", x(2, 3, 4, seed=41), x(2, 4, 5, seed=42))
    matmul("batched transposed", x(2, 4, 3, seed=43), x(2, 5, 4, seed=44), ta=True, tb=True)
    matmul("shared right", x(2, 3, 4, seed=45), x(4, 5, seed=46))
    matmul("shared left", x(3, 4, seed=47), x(2, 4, 5, seed=48))
    matmul("outer batch", x(2, 1, 3, 4, seed=49), x(3, 4, 2, seed=50))
    matmul("one by one", x(1, 1, seed=51), x(1, 1, seed=52))
    matmul("row by column", x(1, 9, seed=53), x(9, 1, seed=54))
    matmul("odd", x(7, 17, seed=55), x(17, 9, seed=56))
    matmul("inner 0", x(3, 0, seed=57), x(0, 2, seed=58))
    matmul("no rows", x(0, 4, seed=59), x(4, 2, seed=60))
    matmul("zero times special", f64([[0, 0, 0], [0, 1, 0], [-0.0, 0, 2]]), f64([[nan, 1, -0.0], [2, inf, 1], [3, 1, 4]]))

    def conv(name, xs, ws, stride, pad, bias=True, seed=61):
        top, bottom, left, right = pad
        ins = [x(*xs, seed=seed, scale=2.0), x(*ws, seed=seed + 1, scale=2.0)] + ([x(ws[0], seed=seed + 2)] if bias else [])
        case("conv2d", name, ins, lambda a, w, *b: F.conv2d(F.pad(a, (left, right, top, bottom)), w, *b, stride=stride), stride=stride, padding=pad)

    conv("1x1", (2, 3, 3, 4), (2, 3, 1, 1), [1, 1], [0, 0, 0, 0])
    conv("3x3 same", (2, 2, 5, 6), (3, 2, 3, 3), [1, 1], [1, 1, 1, 1])
    conv("3x3 valid", (1, 3, 5, 5), (2, 3, 3, 3), [1, 1], [0, 0, 0, 0], bias=False)
    conv("3x3 stride 2", (2, 2, 7, 6), (2, 2, 3, 3), [2, 2], [1, 1, 1, 1])
    conv("stride 2 leaves a rest", (1, 1, 6, 6), (2, 1, 3, 3), [2, 2], [0, 0, 0, 0])
    conv("uneven stride", (1, 2, 6, 7), (2, 2, 3, 2), [3, 2], [0, 0, 0, 0])
    conv("uneven padding", (1, 2, 4, 4), (2, 2, 2, 2), [1, 1], [0, 1, 1, 0])
    conv("wide padding", (1, 1, 3, 3), (1, 1, 3, 3), [1, 1], [3, 2, 2, 3])
    conv("5x2", (1, 2, 6, 4), (3, 2, 5, 2), [1, 2], [2, 2, 0, 1])
    conv("kernel as large as the image", (2, 2, 3, 4), (3, 2, 3, 4), [1, 1], [0, 0, 0, 0])
    conv("no images", (0, 2, 4, 4), (3, 2, 3, 3), [1, 1], [1, 1, 1, 1])
    hot = torch.zeros(1, 1, 4, 4, dtype=torch.float64)
    hot[0, 0, 1, 2], hot[0, 0, 3, 0] = nan, inf
    case("conv2d", "special", [hot, f64([[[[0, 1, 0], [1, 0, 0], [0, 0, 2]]]])], lambda a, w: F.conv2d(a, w, padding=1), stride=[1, 1], padding=[1, 1, 1, 1])


def pools():
    shapes = (("2x2", (2, 2, 4, 6), [2, 2], [2, 2], [0, 0]), ("leaves a rest", (1, 2, 5, 5), [2, 2], [2, 2], [0, 0]),
              ("overlapping, padded", (1, 2, 5, 6), [3, 3], [2, 2], [1, 1]), ("uneven", (1, 1, 6, 7), [3, 2], [1, 3], [1, 0]),
              ("whole image", (2, 3, 3, 4), [3, 4], [3, 4], [0, 0]))
    for name, s, window, stride, pad in shapes:
        attrs = {"window": window, "stride": stride, "padding": [pad[0], pad[0], pad[1], pad[1]]}
        a = distinct(x(*s, seed=71, scale=16.0))
        case("max_pool", name, [a], lambda v: F.max_pool2d(v, window, stride, pad), **attrs)
        for count in (True, False):
            case("avg_pool", name + ("" if count else ", padding not counted"), [a],
                 lambda v: F.avg_pool2d(v, window, stride, pad, count_include_pad=count), include_pad=count, **attrs)
    two = {"window": [2, 2], "stride": [2, 2], "padding": [0, 0, 0, 0]}
    equal = f64([[[[1, 1, 0, -0.0], [1, 1, -0.0, 0], [2, 3, 5, 4], [3, 1, 5, 5]]]])
    special = f64([[[[1, nan, -inf, -inf], [inf, 1, -inf, -inf], [2, 1, -inf, 2], [nan, 3, 1, 0]]]])
    case("max_pool", "first of equals", [equal], lambda v: F.max_pool2d(v, 2), **two)
    case("max_pool", "special", [special], lambda v: F.max_pool2d(v, 2), **two)
    case("avg_pool", "special", [special], lambda v: F.avg_pool2d(v, 2), include_pad=True, **two)


def norms():
    for op, f in {"softmax": F.softmax, "log_softmax": F.log_softmax}.items():
        case(op, "last", [x(3, 5, seed=81)], lambda a: f(a, -1), axis=1)
        case(op, "first", [x(3, 5, seed=81)], lambda a: f(a, 0), axis=0)
        case(op, "middle", [x(2, 4, 3, seed=82)], lambda a: f(a, 1), axis=1)
        case(op, "length 1", [x(4, 1, seed=83)], lambda a: f(a, 1), axis=1)
        case(op, "large", [f64([[1e4, -1e4, 9999], [-1e300, -1e300, 1e300], [1e4, 1e4, 1e4]])], lambda a: f(a, 1), axis=1)
        case(op, "special", [f64([[nan, 1, 2], [-inf, 1, 2], [-inf, -inf, -inf], [inf, 1, 2], [0.0, -0.0, -inf]])], lambda a: f(a, 1), axis=1)

    case("cross_entropy", "plain", [x(6, 4, seed=84), torch.from_numpy(formula.labels(6, 85, 4))], F.cross_entropy)
    case("cross_entropy", "one row", [x(1, 10, seed=86), i64([3])], F.cross_entropy)
    case("cross_entropy", "large", [f64([[1e4, -1e4, 0], [-1e4, 1e4, 0], [1e4, 1e4, 1e4]]), i64([0, 0, 2])], F.cross_entropy)
    case("cross_entropy", "special", [f64([[-inf, 1, 2], [nan, 0, 1]]), i64([1, 2])], F.cross_entropy)
    case("cross_entropy", "masked classes", [f64([[-inf, 1, 2], [0, -inf, -inf]]), i64([1, 0])], F.cross_entropy)

    def batch_norm(name, a, eps=1e-5, momentum=0.1):
        c = a.shape[1]
        scale, bias, mean, variance = x(c, seed=87, shift=1.0, scale=1.0), x(c, seed=88), x(c, seed=89), x(c, seed=90, scale=1.0, shift=1.0)

        def train(v, s, b, m, q):
            m, q = m.detach().clone(), q.detach().clone()
            y = F.batch_norm(v, m, q, s, b, training=True, momentum=momentum, eps=eps)
            axes = [i for i in range(v.dim()) if i != 1]
            return y, v.detach().mean(axes), v.detach().var(axes, correction=0), m, q

        case("batch_norm_train", name, [a, scale, bias, mean, variance], train, eps=eps, momentum=momentum)
        case("batch_norm_eval", name, [a, scale, bias, mean, variance],
             lambda v, s, b, m, q: F.batch_norm(v, m.detach(), q.detach(), s, b, training=False, eps=eps), eps=eps)

    batch_norm("images", x(3, 2, 3, 4, seed=91))
    batch_norm("rows", x(6, 3, seed=92))
    batch_norm("two rows", x(2, 3, seed=93), eps=1e-3, momentum=0.25)
    batch_norm("large mean", x(8, 2, 2, 2, seed=94, scale=0.125, shift=10000.0))
    batch_norm("constant channel", torch.cat([x(4, 1, 2, 2, seed=95), torch.full((4, 1, 2, 2), 7.0, dtype=torch.float64)], 1))


def moving():
    rows, index = x(5, 3, seed=101), i64([4, 0, 4, 2])
    case("take", "rows", [rows, index], lambda a, i: a.index_select(0, i), axis=0)
    case("take", "columns", [rows, i64([2, 2, 1])], lambda a, i: a.index_select(1, i), axis=1)
    case("take", "none", [rows, i64([])], lambda a, i: a.index_select(0, i), axis=0)
    case("gather", "along the last axis", [rows, i64([[0, 2], [1, 1], [2, 0], [0, 0], [1, 2]])], lambda a, i: a.gather(1, i), axis=1)
    case("gather", "along the first axis", [rows, i64([[0, 4, 4], [1, 1, 0]])], lambda a, i: a.gather(0, i), axis=0)
    case("embedding", "sentences", [rows, i64([[0, 3, 3], [4, 1, 3]])], lambda a, i: F.embedding(i, a))
    case("embedding", "one word", [rows, i64(2)], lambda a, i: F.embedding(i, a))
    case("index_add", "rows", [rows, index, x(4, 3, seed=102)], lambda a, i, v: a.index_add(0, i, v), axis=0)
    case("index_add", "special", [f64([[nan], [0], [1]]), i64([1, 1, 2]), f64([[inf], [-inf], [nan]])], lambda a, i, v: a.index_add(0, i, v), axis=0)
    case("scatter_add", "along the last axis", [rows, i64([[0, 2], [1, 1], [2, 0], [0, 0], [1, 2]]), x(5, 2, seed=103)],
         lambda a, i, v: a.scatter_add(1, i, v), axis=1)

    for name, a, low, high, value in (("matrix", x(2, 3, seed=104), [1, 0], [0, 2], 0.0), ("value", x(2, 3, seed=104), [0, 1], [2, 1], -1.5),
                                      ("nothing", x(2, 3, seed=104), [0, 0], [0, 0], 0.0), ("images", x(1, 2, 2, 3, seed=105), [0, 0, 1, 2], [0, 1, 1, 0], 0.0),
                                      ("empty", x(0, 2, seed=106), [1, 0], [1, 1], 2.0)):
        case("pad", name, [a], lambda v: F.pad(v, [n for l, h in zip(low[::-1], high[::-1]) for n in (l, h)], value=value), low=low, high=high, value=value)

    for name, axis, k, largest in (("last", 1, 2, True), ("smallest", 1, 3, False), ("first", 0, 1, True), ("all", 1, 5, True)):
        case("topk", name, [distinct(x(4, 5, seed=107))], lambda a: a.topk(k, dim=axis, largest=largest, sorted=True), axis=axis, k=k, largest=largest)
    case("topk", "special", [f64([[1, nan, inf, -inf, 0]])], lambda a: a.topk(3, dim=1), axis=1, k=3, largest=True)

    case("transpose", "matrix", [x(2, 3, seed=108)], lambda a: a.permute(1, 0).contiguous(), axes=[1, 0])
    case("transpose", "rank 4", [x(2, 3, 2, 2, seed=109)], lambda a: a.permute(0, 2, 3, 1).contiguous(), axes=[0, 2, 3, 1])
    case("expand", "column", [x(3, 1, seed=110)], lambda a: a.expand(2, 3, 4).contiguous(), shape=[2, 3, 4])
    case("concat", "columns", [x(2, 1, seed=111), x(2, 3, seed=112), x(2, 0, seed=113)], lambda *a: torch.cat(a, 1), axis=1)
    case("split", "uneven", [x(5, 2, seed=114)], lambda a: [t.contiguous() for t in a.split([1, 4])], axis=0, sizes=[1, 4])
    case("slice", "every other", [x(3, 6, seed=115)], lambda a: a[1:3, 0:6:2].contiguous(), start=[1, 0], stop=[3, 6], step=[1, 2])


def ctc():
    """Logits go through log_softmax: PyTorch's gradient is right only with it."""
    def loss(logits, targets, steps, labels, **options):
        return F.ctc_loss(logits.log_softmax(2), targets, steps, labels, **options)

    for name, seed, shape, targets, steps, labels, options in (
        ("lengths", 120, (7, 3, 5), [[1, 2, 3], [4, 1, 0], [2, 0, 0]], [7, 5, 6], [3, 2, 1], {}),
        ("repeated labels", 121, (8, 2, 4), [[1, 1, 1, 2], [3, 3, 2, 2]], [8, 7], [4, 4], {}),
        ("just enough steps", 122, (5, 2, 3), [[1, 1, 2], [2, 1, 2]], [4, 3], [3, 3], {}),
        ("another blank", 123, (6, 2, 4), [[0, 1, 2], [2, 2, 0]], [6, 6], [3, 2], {"blank": 3}),
        ("empty target", 124, (4, 3, 3), [[1, 2], [0, 0], [2, 0]], [4, 4, 3], [2, 0, 1], {}),
        ("only empty targets", 125, (4, 2, 3), [[], []], [4, 3], [0, 0], {}),
        ("impossible counts as zero", 126, (4, 3, 3), [[1, 2, 1], [1, 1, 1], [2, 2, 2]], [4, 4, 4], [3, 3, 3], {"zero_infinity": True}),
        ("long", 127, (60, 2, 12), [[1, 2, 3, 3, 11, 10, 4, 4, 4, 9], [5, 6, 5, 6, 5, 6, 5, 6, 0, 0]], [60, 41], [10, 8], {}),
    ):
        for reduction in ("none", "sum", "mean"):
            case("ctc_loss", f"{name}, {reduction}", [x(*shape, seed=seed), i64(targets), i64(steps), i64(labels)],
                 lambda *a: loss(*a, reduction=reduction, **options), reduction=reduction, **options)
    case("ctc_loss", "impossible", [x(4, 3, 3, seed=128), i64([[1, 2, 1], [1, 1, 1], [2, 2, 2]]), i64([4, 4, 2]), i64([3, 3, 3])],
         lambda logits, *a: loss(logits.detach(), *a, reduction="none"), reduction="none")
    far = torch.log_softmax(x(3, 1, 3, seed=129), 2)
    far[0, 0, 1], far[1, 0, 2] = -1e4, -2e4
    case("ctc_loss", "far apart", [far, i64([[1, 2]]), i64([2]), i64([2])], lambda *a: loss(*a, reduction="sum"), reduction="sum")


def write(folder):
    for group in (elementwise, reduce, products, pools, norms, moving, ctc):
        group()
    path = folder / "ops.json"
    lines = ",\n".join(json.dumps(c, separators=(",", ":"), allow_nan=False) for c in cases)
    path.write_text(f'{{"torch":"{torch.__version__}","cases":[\n{lines}\n]}}\n')
    print(f"{path.name}: {len(cases)} cases, {path.stat().st_size // 1024} KB")
