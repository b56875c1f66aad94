#!/usr/bin/env python3
"""Writes events.golden, beside this script, by TensorBoard's own code: what the tests compare with, byte by byte.

usage: make.py        (needs the Python package tensorboard)
"""
import io, pathlib
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

Value = summary_pb2.Summary.Value


def histogram():
    # The numbers 0 to 9, by sixty-four intervals, as the test has them.
    limits = [9 / 64 * (k + 1) for k in range(64)]
    counts = [0.0] * 64
    for v in range(10):
        counts[next(k for k, limit in enumerate(limits) if v <= limit)] += 1
    return summary_pb2.HistogramProto(min=0, max=9, num=10, sum=45, sum_squares=285, bucket_limit=limits, bucket=counts)


def text(s):
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
    tensor = tensor_pb2.TensorProto(dtype="DT_STRING", tensor_shape=shape, string_val=[s.encode()])
    plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
    return dict(tensor=tensor, metadata=summary_pb2.SummaryMetadata(plugin_data=plugin))


def summary(**value):
    return summary_pb2.Summary(value=[Value(**value)])


events = [
    dict(file_version="brain.Event:2"),
    dict(summary=summary(tag="loss/train", simple_value=0.75)),
    dict(step=1, summary=summary(tag="loss/train", simple_value=0)),
    dict(step=300, summary=summary(tag="λ", simple_value=float("nan"))),
    dict(step=300, summary=summary(tag="note", **text("**bold** ä"))),
    dict(step=1 << 40, summary=summary(tag="weights", histo=histogram())),
    dict(step=2, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)),
]
out = io.BytesIO()
out.close = lambda: None
records = RecordWriter(out)
for i, e in enumerate(events):
    records.write(event_pb2.Event(wall_time=1700000000.25 + i, **e).SerializeToString(deterministic=True))
(pathlib.Path(__file__).resolve().parent / "events.golden").write_bytes(out.getvalue())
