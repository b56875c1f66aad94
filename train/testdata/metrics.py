"""Prints what scikit-learn and numpy make of the predictions of TestMetrics: the numbers that stand there."""
import numpy as np
from sklearn import metrics as m

n, classes = 50, 4
i, k = np.arange(n)[:, None], np.arange(classes)[None, :]
logits = np.sin(3 * i + k * k + 0.5 * (i // 7))
y = (i * i + i // 3)[:, 0] % 3  # class 3 is predicted, and never right
counts = np.arange(n) % 11 != 5
z, t = logits[counts], y[counts]
p = z.argmax(1)
print("accuracy", m.accuracy_score(t, p))
for top in (2, 3):
    print("top-%d" % top, m.top_k_accuracy_score(t, z, k=top, labels=range(classes)))
print("macro", m.f1_score(t, p, average="macro"))
print("micro", m.f1_score(t, p, average="micro"))
print("binary", m.f1_score(t == 1, z[:, :2].argmax(1) == 1))
print("confusion", m.confusion_matrix(t, p, labels=range(classes)).tolist())
logp = z - np.log(np.exp(z).sum(1, keepdims=True))
print("perplexity", np.exp(-logp[np.arange(len(t)), t].mean()))
print("mse", m.mean_squared_error(logits[:, :2], logits[:, 2:]))
print("mae", m.mean_absolute_error(logits[:, :2], logits[:, 2:]))
