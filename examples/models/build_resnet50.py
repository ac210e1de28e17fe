#!/usr/bin/env python3
"""Writes ResNet-50 v1 for ImageNet as .onnx, with the standard library; numpy makes it faster.

It writes the same bytes as `make_weights.py resnet50` with the same seed, for machines without the
package `onnx`. Graph, names and node order are those of light_resnet50 (He et al., CVPR'16, with
the stride in the 3x3 convolution). About 1 s with numpy, 10-30 s without.
"""

import argparse
import sys

import counter_rng
import onnx_file
import weight_rules
from onnx_file import Model, Node, Tensor, int64_tensor

STAGES = (
    (2, 3, 64, 1),
    (3, 4, 128, 2),
    (4, 6, 256, 2),
    (5, 3, 512, 2),
)  # name, blocks, channels, stride
EXPANSION = 4
EPSILON = 1.0000000656873453e-05  # the float32 next to 1e-5 that the original export carries


class Builder:
    def __init__(self):
        self.nodes = []
        self.constants = {}

    def add(self, op, inputs, output=None, **attributes):
        """Appends a node; its number names it and its result. Returns the result's name."""
        number = len(self.nodes)
        output = output or f"r{number}"
        self.nodes.append(Node(op, inputs, [output], attributes, f"n{number}"))
        return output

    def constant(self, name, shape):
        self.constants[name] = Tensor(shape, None)
        return name

    def conv(self, x, name, c_in, c_out, kernel, stride, pads=True):
        window = {"kernel_shape": [kernel, kernel], "strides": [stride, stride]}
        if pads:
            window["pads"] = [kernel // 2] * 4
        return self.add(
            "Conv", [x, self.constant(f"gpu_0/{name}_w_0", [c_out, c_in, kernel, kernel])], **window
        )

    def norm(self, x, name, channels):
        parts = [
            self.constant(f"gpu_0/{name}_{part}_0", [channels]) for part in ("s", "b", "rm", "riv")
        ]
        return self.add("BatchNormalization", [x] + parts, epsilon=EPSILON)

    def bottleneck(self, x, name, c_in, channels, stride, first):
        """1x1, 3x3, 1x1; the first block of a stage also projects its input."""
        y = self.conv(x, f"{name}_branch2a", c_in, channels, 1, 1)
        y = self.add("Relu", [self.norm(y, f"{name}_branch2a_bn", channels)])
        y = self.conv(y, f"{name}_branch2b", channels, channels, 3, stride)
        y = self.add("Relu", [self.norm(y, f"{name}_branch2b_bn", channels)])
        y = self.conv(y, f"{name}_branch2c", channels, channels * EXPANSION, 1, 1)
        y = self.norm(y, f"{name}_branch2c_bn", channels * EXPANSION)
        if first:
            # Without pads, as in the original export: the absent attribute must read as zero.
            x = self.conv(x, f"{name}_branch1", c_in, channels * EXPANSION, 1, stride, pads=False)
            x = self.norm(x, f"{name}_branch1_bn", channels * EXPANSION)
        return self.add("Relu", [self.add("Sum", [y, x])])


def build():
    b = Builder()
    x = b.conv("gpu_0/data_0", "conv1", 3, 64, 7, 2)
    x = b.add("Relu", [b.norm(x, "res_conv1_bn", 64)])
    x = b.add("MaxPool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    c_in = 64
    for stage, blocks, channels, stride in STAGES:
        for block in range(blocks):
            first = block == 0
            x = b.bottleneck(
                x, f"res{stage}_{block}", c_in, channels, stride if first else 1, first
            )
            c_in = channels * EXPANSION
    x = b.add("AveragePool", [x], kernel_shape=[7, 7], strides=[1, 1])
    b.constants["OC2_DUMMY_1"] = int64_tensor([1, c_in])
    x = b.add("Reshape", [x, "OC2_DUMMY_1"])
    head = [b.constant("gpu_0/pred_w_0", [1000, c_in]), b.constant("gpu_0/pred_b_0", [1000])]
    x = b.add("Gemm", [x] + head, transB=1)
    b.add("Softmax", [x], output="gpu_0/softmax_1")

    for name, values in weight_rules.assign(b.nodes, b.constants).items():
        b.constants[name].data = values
    given, result = [("gpu_0/data_0", [1, 3, 224, 224])], [("gpu_0/softmax_1", [1, 1000])]
    return Model("resnet50", 9, given, result, b.nodes, b.constants)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--plain", action="store_true", help="standard library only, even where numpy is installed"
    )
    options = parser.parse_args()
    onnx_file.write(
        build(), options.output, options.seed, options.plain or counter_rng.numpy is None
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
