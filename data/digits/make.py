#!/usr/bin/env python3
"""Synthesises the spoken digits that package digits embeds.

usage: make.py

It needs numpy and the program espeak-ng, whose version it prints: another version, or another zlib, makes other bytes. The archive is written beside this
script. In it the file train/7/m3-en-gb-2.wav is the digit seven, spoken by the voice m3 with the accent en-gb, its take 2. A voice is one of
espeak-ng's variants, which say what formants, pitch and breath a speaker has; those of the folder test speak nowhere in the folder train. Accent, speed and pitch of
a take are drawn from a generator with a fixed seed.
"""
import io, pathlib, random, subprocess, wave, zipfile
import numpy as np

WORDS = "zero one two three four five six seven eight nine".split()
ACCENTS = "en-us en-us-nyc en-029 en-gb en-gb-scotland en-gb-x-gbclan en-gb-x-gbcwmd en-gb-x-rp".split()
# Where espeak-ng has several variants of one voice, as steph, steph2 and steph3, all or none are here.
TRAIN = """m1 m2 m3 m5 m6 m8 f1 f2 f3 f5 klatt klatt2 klatt3 adam Alex Alicia Andy Annie antonio belinda boris david Denis Diogo ed
Gene grandpa gustave Henrique iven john kaukovalta Lee linda Marco Michael Mike paul quincy rob steph zac""".split()
TEST = "m4 m7 f4 croak grandma Andrea aunty max norbert pablo robert victor".split()
TAKES = {"train": 2, "test": 2}
RATE = 8000


def speak(word, voice, accent, speed, pitch):
    """Samples from -1 to 1 at 8 kHz of one word."""
    told = subprocess.run(["espeak-ng", "--stdout", "-v", f"{accent}+{voice}", "-s", str(speed), "-p", str(pitch), word], check=True, capture_output=True)
    if told.stderr:
        raise SystemExit(f"espeak-ng says of {accent}+{voice}: {told.stderr.decode()}")
    header = wave.open(io.BytesIO(told.stdout))
    if (header.getnchannels(), header.getsampwidth(), header.getframerate()) != (1, 2, 22050):
        raise SystemExit(f"espeak-ng gave {header.getparams()}")
    return resample(np.frombuffer(told.stdout[44:], "<i2") / 2**15)


def resample(x):
    """From 22,050 Hz to 8 kHz, by cutting the spectrum off at 4 kHz: 441 samples become 160."""
    blocks = -(-len(x) // 441)
    spectrum = np.fft.rfft(np.pad(x, (0, 441 * blocks - len(x))))
    return np.fft.irfft(spectrum[: 80 * blocks + 1], 160 * blocks) * 160 / 441


def trim(x):
    """Without the silence around it, but for 20 ms, and as loud as 8 bits allow."""
    x = x / np.abs(x).max() * 0.95
    loud = np.flatnonzero(np.abs(x) > 0.02)
    return x[max(0, loud[0] - RATE // 50) : loud[-1] + RATE // 50]


def wav(x):
    """The bytes of a WAV file of 8 bits."""
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setparams((1, 1, RATE, 0, "NONE", ""))
        w.writeframes(np.clip(np.round(x * 128) + 128, 0, 255).astype(np.uint8).tobytes())
    return out.getvalue()


def main():
    print(subprocess.run(["espeak-ng", "--version"], check=True, capture_output=True, text=True).stdout)
    draw = random.Random(1)
    archive = pathlib.Path(__file__).resolve().parent / "digits.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for split, voices in ("train", TRAIN), ("test", TEST):
            for digit, word in enumerate(WORDS):
                for voice in voices:
                    for take in range(TAKES[split]):
                        accent = draw.choice(ACCENTS)
                        sound = trim(speak(word, voice, accent, draw.randint(120, 220), draw.randint(30, 70)))
                        info = zipfile.ZipInfo(f"{split}/{digit}/{voice}-{accent}-{take}.wav", (1980, 1, 1, 0, 0, 0))
                        info.compress_type = zipfile.ZIP_DEFLATED
                        z.writestr(info, wav(sound), compresslevel=9)


main()
