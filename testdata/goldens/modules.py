"""Modules: what each makes of an input, and the gradients of the input and of the parameters, in float64.

modules.safetensors holds for each case "CASE/in", "CASE/out", "CASE/dy", the weights of the outputs in the loss, "CASE/dx", and for each entry of
the state dict "CASE/state/NAME" and, if it is trained, "CASE/grad/NAME". A running statistic after the pass is "CASE/after/NAME".
"""
import torch
import torch.nn as nn
from safetensors.torch import save_file
import formula


class Block(nn.Module):
    """The basic block of a ResNet, with torchvision's names."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout)
        self.conv2, self.bn2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout)
        self.downsample = None
        if stride > 1 or cin != cout:
            self.downsample = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class First(nn.Module):
    """The first result of a recurrent module, or self-attention with or without a causal mask."""

    def __init__(self, m, causal=False):
        super().__init__()
        self.m, self.causal = m, causal

    def forward(self, x):
        if not isinstance(self.m, nn.MultiheadAttention):
            return self.m(x)[0]
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype) if self.causal else None
        return self.m(x, x, x, attn_mask=mask, need_weights=False)[0]


class Causal(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, x):
        return self.m(x, src_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype))


class Padded(nn.Module):
    """A module on two sequences, of which the first ends after two steps."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, x):
        lengths, steps = torch.tensor([2, 5]), x.shape[1]
        if isinstance(self.m, nn.TransformerEncoderLayer):
            return self.m(x, src_key_padding_mask=torch.arange(steps) >= lengths[:, None])
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.m(packed)[0], batch_first=True, total_length=steps)[0]


def encoder(**options):
    return nn.TransformerEncoderLayer(6, 3, 10, dropout=0.0, batch_first=True, **options)


row, sequence, image, steps = (3, 5), (2, 4, 5), (1, 4, 5, 4), (2, 5, 6)
CASES = {
    "relu": (nn.ReLU(), row), "tanh": (nn.Tanh(), row), "sigmoid": (nn.Sigmoid(), row), "logsigmoid": (nn.LogSigmoid(), row),
    "gelu": (nn.GELU(), row), "gelu-tanh": (nn.GELU("tanh"), row), "silu": (nn.SiLU(), row),
    "leakyrelu": (nn.LeakyReLU(), row), "leakyrelu-0.3": (nn.LeakyReLU(0.3), row), "elu": (nn.ELU(), row), "elu-2": (nn.ELU(2.0), row),
    "softplus": (nn.Softplus(), row), "hardtanh": (nn.Hardtanh(), row), "relu6": (nn.ReLU6(), row),
    "softmax": (nn.Softmax(-1), row), "softmax-1": (nn.Softmax(1), sequence), "logsoftmax": (nn.LogSoftmax(-1), row), "logsoftmax-1": (nn.LogSoftmax(1), sequence),
    "linear": (nn.Linear(5, 3), row),
    "layernorm": (nn.LayerNorm(5), row), "layernorm-2": (nn.LayerNorm((4, 5)), sequence), "layernorm-plain": (nn.LayerNorm(5, elementwise_affine=False), row),
    "layernorm-nobias": (nn.LayerNorm(5, bias=False), row), "rmsnorm": (nn.RMSNorm(5), row), "rmsnorm-2": (nn.RMSNorm((4, 5), eps=1e-3), sequence),
    "groupnorm": (nn.GroupNorm(2, 4), image), "groupnorm-plain": (nn.GroupNorm(4, 4, affine=False), sequence),
    "batchnorm1d": (nn.BatchNorm1d(5), row), "batchnorm1d-sequence": (nn.BatchNorm1d(4), sequence), "batchnorm2d": (nn.BatchNorm2d(4, momentum=0.3), image),
    "batchnorm2d-eval": (nn.BatchNorm2d(4).eval(), image),
    "conv1d": (nn.Conv1d(4, 6, 3), sequence), "conv1d-same": (nn.Conv1d(4, 3, 4, padding="same", dilation=2), sequence),
    "conv1d-groups": (nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), sequence),
    "conv2d": (nn.Conv2d(4, 3, 3), image), "conv2d-dilated": (nn.Conv2d(4, 2, 3, padding=2, dilation=2, bias=False), image),
    "conv2d-depthwise": (nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=4), image),
    "convtranspose1d": (nn.ConvTranspose1d(4, 3, 3, stride=2, padding=1, output_padding=1), sequence),
    "convtranspose2d": (nn.ConvTranspose2d(4, 3, 3), image),
    "convtranspose2d-groups": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False), image),
    "convtranspose2d-dilated": (nn.ConvTranspose2d(4, 2, 2, dilation=2), image),
    "maxpool1d": (nn.MaxPool1d(3, 2, 1), sequence), "maxpool2d-ceil": (nn.MaxPool2d(2, ceil_mode=True), image),
    "avgpool1d": (nn.AvgPool1d(2), sequence), "avgpool2d-ceil": (nn.AvgPool2d(3, 2, 1, ceil_mode=True), image),
    "adaptiveavg1d": (nn.AdaptiveAvgPool1d(4), sequence), "adaptivemax1d": (nn.AdaptiveMaxPool1d(4), sequence),
    "adaptiveavg2d": (nn.AdaptiveAvgPool2d((4, 3)), image), "adaptivemax2d": (nn.AdaptiveMaxPool2d((4, 3)), image),
    "globalavg": (nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), image), "globalmax": (nn.Sequential(nn.AdaptiveMaxPool2d(1), nn.Flatten()), image),
    "upsample": (nn.Upsample(scale_factor=2), image), "upsample-bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), image),
    "upsample-aligned": (nn.Upsample(scale_factor=3, mode="bilinear", align_corners=True), (1, 1, 3, 4)),
    "upsample-sequence": (nn.Upsample(scale_factor=2, mode="linear"), sequence),
    "pixelshuffle": (nn.PixelShuffle(2), image), "pixelunshuffle": (nn.PixelUnshuffle(2), (1, 2, 4, 6)),
    "zeropad": (nn.ZeroPad2d((1, 2, 3, 0)), image), "constantpad": (nn.ConstantPad2d((1, 2, 3, 0), 0.5), image), "reflectpad": (nn.ReflectionPad2d((1, 2, 3, 0)), image),
    "replicatepad": (nn.ReplicationPad2d((1, 2, 3, 0)), image), "circularpad": (nn.CircularPad2d((1, 2, 3, 0)), image),
    "lstm": (First(nn.LSTM(6, 4, batch_first=True)), steps), "lstm-nobias": (First(nn.LSTM(6, 3, bias=False, batch_first=True)), steps),
    "lstm-deep": (First(nn.LSTM(6, 3, 2, batch_first=True, bidirectional=True)), steps),
    "gru": (First(nn.GRU(6, 4, batch_first=True)), steps), "gru-deep": (First(nn.GRU(6, 3, 2, batch_first=True, bidirectional=True)), steps),
    "lstm-lengths": (Padded(nn.LSTM(6, 3, 2, batch_first=True, bidirectional=True)), steps),
    "gru-lengths": (Padded(nn.GRU(6, 3, batch_first=True, bidirectional=True)), steps), "encoder-lengths": (Padded(encoder()), steps),
    "attention": (First(nn.MultiheadAttention(6, 3, batch_first=True)), steps),
    "attention-causal": (First(nn.MultiheadAttention(6, 2, batch_first=True, bias=False), causal=True), steps),
    "encoder": (encoder(), steps), "encoder-prenorm": (encoder(norm_first=True, activation="gelu", bias=False), steps), "encoder-causal": (Causal(encoder(norm_first=True)), steps),
    "basicblock": (Block(4, 4, 1), image), "basicblock-stride": (Block(4, 3, 2), image),
}


def numbers(shape, seed, scale=2.0, shift=0.0):
    return torch.from_numpy(formula.fill(tuple(shape), seed, scale)) + shift


def write(folder):
    out = {}
    for k, (name, (m, shape)) in enumerate(CASES.items()):
        m.double()
        for i, (key, v) in enumerate(m.state_dict().items()):
            if v.is_floating_point():
                positive = key.endswith("running_var")
                v.copy_(numbers(v.shape, 100 * k + i, 1.0, 1.5 if positive else 0.0))
        inner = getattr(m, "m", m)  # names do not begin with that of the wrapper
        state = {key: v.clone() for key, v in inner.state_dict().items()}
        x = numbers(shape, 10000 + k, 4.0).requires_grad_()
        y = m(x)
        dy = numbers(y.shape, 20000 + k)
        wrt = dict(inner.named_parameters())
        grads = torch.autograd.grad((y * dy).sum(), [x, *wrt.values()])
        out |= {f"{name}/in": x, f"{name}/out": y, f"{name}/dy": dy, f"{name}/dx": grads[0]}
        out |= {f"{name}/state/{key}": v for key, v in state.items()}
        out |= {f"{name}/grad/{key}": g for key, g in zip(wrt, grads[1:])}
        out |= {f"{name}/after/{key}": v for key, v in inner.named_buffers() if v.is_floating_point()}
    save_file({key: v.detach().contiguous() for key, v in out.items()}, folder / "modules.safetensors")
