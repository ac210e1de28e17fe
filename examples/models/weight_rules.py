"""Which values each constant of a network gets, from its place in the graph alone.

No two weights are equal, since equal ones hide indexing faults. Activations neither vanish nor
grow, so that an error shows at the output and float32 stays within its range.

| constant                                      | uniform on         |
|-----------------------------------------------|--------------------|
| weights of Conv, Gemm, MatMul                 | +-sqrt(6 / fan_in) |
| bias, Add of a constant                       | +-0.1              |
| BatchNormalization shift and mean             | +-0.1              |
| BatchNormalization variance                   | 0.8 .. 1.2         |
| BatchNormalization scale, Mul by a constant   | 0.8 .. 1.2         |
| ... scale without a ReLU or Clip behind it    | 0.4 .. 0.6         |

Weights have the standard deviation sqrt(2 / fan_in), which keeps the second moment through a ReLU
(He et al., ICCV'15). Shifts are small against activations near 1. A variance or scale of 0.8 to 1.2
is positive, and its absence shows.

Last row: He's factor 2 makes up for the ReLU, which drops half of the second moment. An affine that
ends a residual branch or a linear bottleneck has no such ReLU, and the sums of 16 blocks would add
up. With half the scale a branch adds half of its input's second moment to the sum.
"""

import math

from onnx_file import INT64, Values

SHIFT = Values(0.0, 0.1)
SCALE = Values(1.0, 0.2)
BRANCH_SCALE = Values(0.5, 0.1)
RECTIFIERS = ("Relu", "Clip", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish")
VIEWS = ("Unsqueeze", "Squeeze", "Reshape", "Identity", "Flatten")


def assign(nodes, constants):
    """Returns {name: Values} for each float constant whose place in the graph is known.

    `constants` maps names to Tensors, of which shapes and integer data are read. Scalars keep their
    value.
    """
    consumers = {}
    for n in nodes:
        for name in n.inputs:
            consumers.setdefault(name, []).append(n)
    origin = {name: name for name in constants}  # through views, to the constant
    for n in nodes:
        if n.op in VIEWS and n.inputs[0] in origin:
            origin[n.outputs[0]] = origin[n.inputs[0]]
    chosen = {}
    for n in nodes:
        if n.outputs[0] in origin:
            continue  # a view: its reader decides
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
    """Does the result of affine `n` go to rectifiers only, past further affines by constants?"""
    for consumer in consumers.get(n.outputs[0], []):
        affine = consumer.op in ("Mul", "Add") and any(i in origin for i in consumer.inputs)
        if affine and rectified_next(consumer, consumers, origin):
            continue
        if consumer.op not in RECTIFIERS:
            return False
    return True
