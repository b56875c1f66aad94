"""Prints what TensorBoard's own reader finds in the folder that is the argument, as JSON."""
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
a.Reload()
tags = a.Tags()
print(json.dumps({
    "scalars": {t: [[e.step, e.value] for e in a.Scalars(t)] for t in tags["scalars"]},
    "histograms": {t: [[e.step, e.histogram_value.num, e.histogram_value.bucket] for e in a.Histograms(t)] for t in tags["histograms"]},
    "texts": {t: [[e.step, tensor_util.make_ndarray(e.tensor_proto).tolist()[0].decode()] for e in a.Tensors(t)] for t in tags["tensors"]},
}))
