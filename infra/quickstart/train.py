"""Trains a classifier of penguins in plain Python: softmax regression on four measurements.

Reads DATA/penguins.json, writes DATA/checkpoints/*.json on the way and DATA/model.json at the end.
Deterministic: a second run writes the same weights. Debian's python3-minimal has no json module: two small
functions stand in for it, enough for this data.
"""

import ast
import hashlib
import math
import os
import random
import re
import sys

DATA = os.environ.get("DATA", "/data")
FEATURES = ["Beak Length (mm)", "Beak Depth (mm)", "Flipper Length (mm)", "Body Mass (g)"]
LABEL = "Species"
EPOCHS = int(os.environ.get("EPOCHS", "60"))
RATE = 0.5
HELD_OUT = 0.25
SEED = 7


WORDS = {"null": "None", "true": "True", "false": "False"}
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\b(?:null|true|false)\b')


def from_json(text):
    """JSON is a Python literal but for three words; those inside strings stay."""
    return ast.literal_eval(TOKEN.sub(lambda match: WORDS.get(match.group(), match.group()), text))


def to_json(value, indent="\n"):
    deeper = indent + "  "
    if isinstance(value, dict):
        fields = [f'"{key}": {to_json(value[key], deeper)}' for key in sorted(value)]
        return "{" + ",".join(deeper + field for field in fields) + indent + "}"
    if isinstance(value, list):
        return "[" + ", ".join(to_json(item, deeper) for item in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def load(path):
    with open(path, "rb") as file:
        raw = file.read()
    rows = [row for row in from_json(raw.decode()) if all(row[name] is not None for name in FEATURES)]
    return hashlib.sha256(raw).hexdigest(), rows


def standardise(rows, mean, spread):
    return [[(row[name] - mean[name]) / spread[name] for name in FEATURES] + [1.0] for row in rows]


def moments(rows):
    mean = {name: sum(row[name] for row in rows) / len(rows) for name in FEATURES}
    spread = {
        name: math.sqrt(sum((row[name] - mean[name]) ** 2 for row in rows) / len(rows)) for name in FEATURES
    }
    return mean, spread


def probabilities(weights, x):
    scores = [sum(w * value for w, value in zip(row, x)) for row in weights]
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def epoch(weights, xs, ys):
    """One step of full-batch gradient descent; gives the mean loss before it."""
    gradient = [[0.0] * len(xs[0]) for _ in weights]
    loss = 0.0
    for x, y in zip(xs, ys):
        p = probabilities(weights, x)
        loss -= math.log(max(p[y], 1e-12))
        for k, row in enumerate(gradient):
            error = p[k] - (1.0 if k == y else 0.0)
            for j, value in enumerate(x):
                row[j] += error * value
    for row, step in zip(weights, gradient):
        for j, value in enumerate(step):
            row[j] -= RATE * value / len(xs)
    return loss / len(xs)


def accuracy(weights, xs, ys):
    right = 0
    for x, y in zip(xs, ys):
        p = probabilities(weights, x)
        right += p.index(max(p)) == y
    return right / len(xs)


def write(path, value):
    """Readers see the old file or the new one, never half."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "w") as file:
        file.write(to_json(value) + "\n")
    os.replace(path + ".part", path)


def main():
    sha256, rows = load(os.path.join(DATA, "penguins.json"))
    random.Random(SEED).shuffle(rows)
    held_out = int(len(rows) * HELD_OUT)
    test, train = rows[:held_out], rows[held_out:]
    species = sorted({row[LABEL] for row in rows})
    mean, spread = moments(train)
    train_x, test_x = standardise(train, mean, spread), standardise(test, mean, spread)
    train_y = [species.index(row[LABEL]) for row in train]
    test_y = [species.index(row[LABEL]) for row in test]
    devices = os.environ.get("BERTH_SIMULATED_GPUS") or os.environ.get("NVIDIA_VISIBLE_DEVICES", "")
    print(f"{len(train)} rows to learn from, {len(test)} held out, {len(species)} species", flush=True)
    print(f"devices given: {devices or 'none named'}", flush=True)
    weights = [[0.0] * (len(FEATURES) + 1) for _ in species]
    for number in range(1, EPOCHS + 1):
        loss = epoch(weights, train_x, train_y)
        if number % 10 == 0 or number == EPOCHS:
            print(f"epoch {number:3d}  loss {loss:.4f}", flush=True)
        if number % 20 == 0:
            write(os.path.join(DATA, "checkpoints", f"epoch-{number}.json"), {"epoch": number, "weights": weights})
    reached = accuracy(weights, test_x, test_y)
    print(f"accuracy on {len(test)} held-out rows: {reached:.4f}", flush=True)
    model = {
        "accuracy": reached,
        "dataSha256": sha256,
        "devices": devices,
        "features": FEATURES,
        "heldOutRows": len(test),
        "mean": mean,
        "species": species,
        "spread": spread,
        "trainRows": len(train),
        "weights": weights,
    }
    write(os.path.join(DATA, "model.json"), model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
