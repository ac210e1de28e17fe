#!/usr/bin/env python3
"""Writes MobileNetV2 1.0 for 224x224 (Sandler et al., CVPR'18) as .onnx, with the standard library.

It has depthwise convolutions (group = channels), linear bottlenecks, residual Add, and separate
BatchNormalization. Opset 13 tests newer forms than light_resnet50's: Clip with its bounds as
inputs, Flatten, Softmax over one axis. Values as in weight_rules.py. About 0.2 s with numpy, 3 s
without.
"""

import argparse
import sys

import counter_rng
import onnx_file
import weight_rules
from onnx_file import Model, Node, Tensor, float_scalar

# Table 2 of the paper: expansion, output channels, blocks, stride of the first block.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
STEM, LAST, CLASSES = 32, 1280, 1000


class Builder:
    def __init__(self):
        self.nodes = []
        self.constants = {"clip_low": float_scalar(0.0), "clip_high": float_scalar(6.0)}

    def add(self, op, name, inputs, **attributes):
        output = "probabilities" if op == "Softmax" else f"{name}_out"
        self.nodes.append(Node(op, inputs, [output], attributes, name))
        return output

    def constant(self, name, shape):
        self.constants[name] = Tensor(shape, None)
        return name

    def conv_norm(self, x, name, c_in, c_out, kernel, stride, group=1):
        weight = self.constant(f"{name}.weight", [c_out, c_in // group, kernel, kernel])
        y = self.add(
            "Conv",
            f"{name}.conv",
            [x, weight],
            dilations=[1, 1],
            group=group,
            kernel_shape=[kernel, kernel],
            pads=[kernel // 2] * 4,
            strides=[stride, stride],
        )
        parts = [
            self.constant(f"{name}.bn.{part}", [c_out]) for part in ("scale", "bias", "mean", "var")
        ]
        return self.add("BatchNormalization", f"{name}.bn", [y] + parts, epsilon=1e-5)

    def conv_norm_clip(self, x, name, *shape, **group):
        return self.add(
            "Clip",
            f"{name}.clip",
            [self.conv_norm(x, name, *shape, **group), "clip_low", "clip_high"],
        )

    def inverted_residual(self, x, name, c_in, c_out, expansion, stride):
        hidden = c_in * expansion
        y = x if expansion == 1 else self.conv_norm_clip(x, f"{name}.expand", c_in, hidden, 1, 1)
        y = self.conv_norm_clip(y, f"{name}.depthwise", hidden, hidden, 3, stride, group=hidden)
        y = self.conv_norm(y, f"{name}.project", hidden, c_out, 1, 1)
        return self.add("Add", f"{name}.add", [x, y]) if stride == 1 and c_in == c_out else y


def build():
    b = Builder()
    x = b.conv_norm_clip("image", "stem", 3, STEM, 3, 2)
    c_in, number = STEM, 0
    for expansion, c_out, blocks, stride in STAGES:
        for block in range(blocks):
            number += 1
            x = b.inverted_residual(
                x, f"block{number}", c_in, c_out, expansion, stride if block == 0 else 1
            )
            c_in = c_out
    x = b.conv_norm_clip(x, "last", c_in, LAST, 1, 1)
    x = b.add("GlobalAveragePool", "pool", [x])
    x = b.add("Flatten", "flatten", [x], axis=1)
    head = [
        b.constant("classifier.weight", [CLASSES, LAST]),
        b.constant("classifier.bias", [CLASSES]),
    ]
    x = b.add("Gemm", "classifier", [x] + head, alpha=1.0, beta=1.0, transB=1)
    b.add("Softmax", "softmax", [x], axis=-1)

    for name, values in weight_rules.assign(b.nodes, b.constants).items():
        b.constants[name].data = values
    given, result = [("image", [1, 3, 224, 224])], [("probabilities", [1, CLASSES])]
    return Model("mobilenetv2", 13, given, result, b.nodes, b.constants)


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
