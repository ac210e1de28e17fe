"""A model in memory and the few lines of protobuf that write it as an .onnx file.

It replaces the `onnx` package, so that models can be built where no package index is reachable. One
writer for all also makes the same model the same bytes. It writes only what these models need, with
the field numbers of onnx.proto3 (IR version 3 and later).
"""

import struct
from dataclasses import dataclass, field

import counter_rng

FLOAT, INT64 = 1, 7  # TensorProto.DataType


@dataclass
class Node:
    op: str
    inputs: list
    outputs: list
    attributes: dict = field(default_factory=dict)  # int, float, str, list of int, list of float
    name: str = ""


@dataclass
class Values:
    """Uniform on middle +- half_width, by counter_rng under the tensor's name."""

    middle: float
    half_width: float


@dataclass
class Tensor:
    shape: list
    data: object  # bytes (little-endian) or Values
    dtype: int = FLOAT

    def count(self):
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    def byte_count(self):
        return self.count() * (4 if self.dtype == FLOAT else 8)


@dataclass
class Model:
    name: str
    opset: int
    inputs: (
        list  # (name, shape) of tensors that the caller gives, float32 unless a data type follows
    )
    outputs: list  # (name, shape)
    nodes: list
    constants: dict = field(default_factory=dict)  # name -> Tensor, written in this order


def int64_tensor(values, shape=None):
    return Tensor(
        [len(values)] if shape is None else shape, struct.pack(f"<{len(values)}q", *values), INT64
    )


def float_scalar(value):
    return Tensor([], struct.pack("<f", value))


def varint(value):
    value &= (1 << 64) - 1  # negative integers are written as 64-bit two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number, value):
    return varint(number << 3) + varint(value)


def length_header(number, byte_count):
    return varint(number << 3 | 2) + varint(byte_count)


def message(number, payload):
    payload = payload.encode("utf-8") if isinstance(payload, str) else payload
    return length_header(number, len(payload)) + payload


def float32(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def attribute(name, value):
    out = message(1, name)
    if isinstance(value, bool) or not isinstance(value, (int, float, str, list)) or value == []:
        raise TypeError(f"attribute {name}: cannot write {value!r}")
    if isinstance(value, float):
        return out + float32(2, value) + integer(20, 1)
    if isinstance(value, int):
        return out + integer(3, value) + integer(20, 2)
    if isinstance(value, str):
        return out + message(4, value) + integer(20, 3)
    if all(isinstance(v, int) for v in value):
        return out + b"".join(integer(8, v) for v in value) + integer(20, 7)
    return out + b"".join(float32(7, v) for v in value) + integer(20, 6)


def node(n):
    out = b"".join(message(1, i) for i in n.inputs) + b"".join(message(2, o) for o in n.outputs)
    out += message(3, n.name) + message(4, n.op)
    return out + b"".join(message(5, attribute(k, n.attributes[k])) for k in sorted(n.attributes))


def value_info(name, shape, dtype=FLOAT):
    dims = b"".join(message(1, integer(1, extent)) for extent in shape)
    return message(1, name) + message(2, message(1, integer(1, dtype) + message(2, dims)))


def tensor_header(name, tensor):
    """All of a TensorProto but the bytes of raw_data, which end it."""
    out = (
        b"".join(integer(1, extent) for extent in tensor.shape)
        + integer(2, tensor.dtype)
        + message(8, name)
    )
    return out + length_header(9, tensor.byte_count())


def data_blocks(name, tensor, seed, plain):
    if isinstance(tensor.data, Values):
        values = tensor.data
        return counter_rng.blocks(
            seed, name, tensor.count(), values.middle, values.half_width, plain
        )
    return [tensor.data]


def write(model, path, seed, plain=counter_rng.numpy is None):
    """Writes `model` to `path`. Generates tensors one by one, so memory stays small."""
    head = b"".join(message(1, node(n)) for n in model.nodes) + message(2, model.name)
    tail = b"".join(message(11, value_info(*v)) for v in model.inputs)
    tail += b"".join(message(12, value_info(*v)) for v in model.outputs)
    headers = {name: tensor_header(name, t) for name, t in model.constants.items()}
    sizes = {name: len(headers[name]) + t.byte_count() for name, t in model.constants.items()}
    openings = {name: length_header(5, size) for name, size in sizes.items()}
    graph_size = len(head) + len(tail) + sum(sizes.values()) + sum(map(len, openings.values()))

    # IR version 4 is the first in which a constant need not also be listed as an input.
    ir_version = 4 if model.opset < 10 else 7
    with open(path, "wb") as file:
        file.write(
            integer(1, ir_version) + message(2, "assay") + length_header(7, graph_size) + head
        )
        for name, tensor in model.constants.items():
            file.write(openings[name] + headers[name])
            for block in data_blocks(name, tensor, seed, plain):
                file.write(block)
        file.write(tail + message(8, message(1, "") + integer(2, model.opset)))
