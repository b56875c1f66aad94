"""The numbers of Go's package internal/formula, bit for bit; its documentation says what they are."""
import numpy as np


def elements(seed, n):
    """The first n outputs of SplitMix64 from the state seed."""
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is the point
        z = np.uint64(seed) + (np.arange(n, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return z ^ z >> np.uint64(31)


def fill(shape, seed, scale):
    """A float64 array of the given shape, spread over [-scale/2, scale/2)."""
    z = elements(seed, int(np.prod(shape)))
    return (scale * ((z >> np.uint64(40)).astype(np.float64) / 2**24 - 0.5)).reshape(shape)


def labels(n, seed, classes):
    """n class numbers from 0 to classes-1."""
    return ((elements(seed, n) >> np.uint64(40)) % np.uint64(classes)).astype(np.int64)


if __name__ == "__main__":  # the numbers that formula_test.go expects
    print("elements(0, 3)        ", [hex(int(z)) for z in elements(0, 3)])
    for seed, scale in ((0, 1.0), (7, 0.0625), (2**64 - 1, 3.0)):
        print(f"fill(4, {seed}, {scale})", [float(x).hex() for x in fill((4,), seed, scale)])
    x = fill((100_000,), 3, 2.0)
    print("fill(100000, 3, 2)    ", float(x[99_999]).hex(), "sum", float((x * 2**23).sum() / 2**23).hex())
    print("labels(12, 5, 10)     ", labels(12, 5, 10).tolist())
