#!/usr/bin/env python3
"""Computes what the tests compare with, from the formulas in the documentation, by numpy alone: goldens.json, beside this script.

usage: make.py

Nothing is shared with the Go code: matrices instead of loops over taps, numpy's Fourier transform, all in float64.
"""
import json, pathlib
import numpy as np


def logmel(x, rate, window, hop, fft, bands, low, high):
    frames = 1 + max(0, len(x) - window) // hop
    x = np.concatenate([x, np.zeros(max(0, window - len(x)))])
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    cut = np.stack([x[i * hop : i * hop + window] * hann for i in range(frames)])
    power = np.abs(np.fft.rfft(cut, fft)) ** 2
    mel = np.linspace(2595 * np.log10(1 + low / 700), 2595 * np.log10(1 + high / 700), bands + 2)
    hz = 700 * (10 ** (mel / 2595) - 1)
    f = np.arange(fft // 2 + 1) * rate / fft
    up = (f[:, None] - hz[None, :-2]) / (hz[1:-1] - hz[:-2])
    down = (hz[None, 2:] - f[:, None]) / (hz[2:] - hz[1:-1])
    return np.log(np.maximum(1e-10, power @ np.maximum(0, np.minimum(up, down))))


def mfcc(logmel, n):
    bands = logmel.shape[1]
    dct = np.cos(np.pi * np.arange(n)[None, :] * (np.arange(bands)[:, None] + 0.5) / bands) * np.sqrt(2 / bands)
    dct[:, 0] = np.sqrt(1 / bands)
    return logmel @ dct


def resample(x, rate, to):
    m, n = np.arange(-(-len(x) * to // rate)), np.arange(len(x))
    f = 0.99 * min(rate, to)
    t = f * (n[None, :] / rate - m[:, None] / to)
    h = np.where(np.abs(t) < 6, np.sinc(t) * np.cos(np.pi * t / 12) ** 2, 0)
    return (f / rate * h) @ x


i = np.arange(1300)
x = (0.5 * np.sin(0.05 * i + 0.0003 * i * i) + 0.25 * np.cos(1.3 * i) * (i % 400 < 200)).astype(np.float32)
x64 = x.astype(np.float64)
out = {"samples": x64.tolist(), "features": [], "resampled": []}
for n, coefficients, p in [
    (1300, 0, dict(rate=16000, window=400, hop=160, fft=512, bands=40, low=0, high=8000)),
    (1300, 13, dict(rate=16000, window=400, hop=160, fft=512, bands=40, low=0, high=8000)),
    (700, 12, dict(rate=8000, window=150, hop=100, fft=300, bands=23, low=120, high=3800)),
    (90, 0, dict(rate=22050, window=551, hop=220, fft=1024, bands=40, low=0, high=11025)),
]:
    v = logmel(x64[:n], **p)
    if coefficients:
        v = mfcc(v, coefficients)
    out["features"].append({**p, "n": n, "coefficients": coefficients, "values": v.tolist()})
for n, rate, to in [(300, 16000, 8000), (150, 8000, 16000), (300, 44100, 16000), (100, 16000, 44100), (200, 48000, 47999), (40, 3, 7), (3, 16000, 8000), (50, 11025, 11025)]:
    values = resample(x64[:n], rate, to) if rate != to else x64[:n]
    out["resampled"].append({"n": n, "rate": rate, "to": to, "values": values.tolist()})
path = pathlib.Path(__file__).resolve().parent / "goldens.json"
path.write_text(json.dumps(out, indent=None, separators=(",", ":")).replace("],", "],\n") + "\n")
