"""Which values each constant of a network gets, from its place in the graph alone.

The aim: no two weights equal (equal ones hide indexing faults), and activations that neither die nor grow,
so that an error is seen at the output and float32 is never near its limits.

| constant | uniform on | why |
|---|---|---|
| weights of Conv, Gemm, MatMul | +-sqrt(6 / fan_in) | standard deviation sqrt(2 / fan_in), He et al., ICCV'15: keeps the second moment through a ReLU |
| bias, BatchNormalization shift and mean, Add of a constant | +-0.1 | small beside activations near 1 |
| BatchNormalization variance | 0.8 .. 1.2 | positive, and visible if forgotten |
| BatchNormalization scale, Mul by a constant | 0.8 .. 1.2 | as above |
| ... scale whose result no ReLU or Clip halves next | 0.4 .. 0.6 | see below |

The last row: He's factor 2 pays for the ReLU that drops half of the second moment. Where the affine ends a
residual branch (then a Sum follows) or a linear bottleneck there is no such ReLU, and the sums of 16 blocks
would add up. Half the scale makes a branch add half of its input's second moment to the sum.
"""

import math

from onnx_file import INT64, Values

SHIFT = Values(0.0, 0.1)
SCALE = Values(1.0, 0.2)
BRANCH_SCALE = Values(0.5, 0.1)
RECTIFIERS = ("Relu", "Clip", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish")
VIEWS = ("Unsqueeze", "Squeeze", "Reshape", "Identity", "Flatten")


def assign(nodes, constants):
    """Returns {name: Values} for each float constant of `constants` whose place in the graph is known.

    `constants` maps names to Tensors; only shapes and the integer ones' data are read. Scalars keep their value.
    """
    consumers = {}
    for n in nodes:
        for name in n.inputs:
            consumers.setdefault(name, []).append(n)
    origin = {name: name for name in constants}  # through views, to the constant behind
    for n in nodes:
        if n.op in VIEWS and n.inputs[0] in origin:
            origin[n.outputs[0]] = origin[n.inputs[0]]
    chosen = {}
    for n in nodes:
        if n.outputs[0] in origin:
            continue  # a view: who reads it decides
        for position, name in enumerate(n.inputs):
            root = origin.get(name)
            if root is None or constants[root].dtype == INT64 or constants[root].count() == 1:
                continue
            values = values_for(n, position, constants[root], consumers, origin, constants)
            if values is not None and chosen.setdefault(root, values) != values:
                raise ValueError(f"{root}: used in two places that want different values")
    return chosen


def values_for(n, position, tensor, consumers, origin, constants):
    if n.op in ("Conv", "Gemm", "MatMul"):
        return SHIFT if position == 2 else weights(fan_in(n, tensor, origin, constants))
    if n.op == "BatchNormalization":
        return (None, scale(n, consumers, origin), SHIFT, SHIFT, SCALE)[position]
    if n.op == "Mul":
        return scale(n, consumers, origin)
    if n.op == "Add":
        return SHIFT
    return None


def weights(fan):
    return Values(0.0, math.sqrt(6.0 / fan))


def fan_in(n, tensor, origin, constants):
    """Terms in one output's sum."""
    if n.op == "Conv":
        return tensor.count() // tensor.shape[0]
    if (
        n.op == "Gemm" and len(n.inputs) > 2
    ):  # the bias has one element per output, however B was reshaped
        return tensor.count() // constants[origin[n.inputs[2]]].count()
    outputs = tensor.shape[0] if n.attributes.get("transB", 0) else tensor.shape[-1]
    return tensor.count() // outputs


def scale(n, consumers, origin):
    return SCALE if rectified_next(n, consumers, origin) else BRANCH_SCALE


def rectified_next(n, consumers, origin):
    """Whether the result of affine `n` goes to rectifiers only, looking past further affines by constants."""
    for consumer in consumers.get(n.outputs[0], []):
        affine = consumer.op in ("Mul", "Add") and any(i in origin for i in consumer.inputs)
        if affine and rectified_next(consumer, consumers, origin):
            continue
        if consumer.op not in RECTIFIERS:
            return False
    return True
