#!/usr/bin/env python3
"""Writes networks of several kinds as .onnx, with the standard library, to compare fused plans.

    python3 build_networks.py vit-s -o vit-s.onnx
    python3 build_networks.py --list

Each has the blocks of its paper and, where `-like` says so, fewer of them: what is compared is how
their operators are computed together. Batch 1, f32, weights by counter_rng.
  vit-s            ViT-S/32, 224 x 224 (Dosovitskiy et al., ICLR'21)
  swin-like        4 blocks in windows of 7 x 7, two of them shifted (Liu et al., ICCV'21)
  convnext-like    3 stages of 2 blocks (Liu et al., CVPR'22)
  conformer-like   2 blocks on 128 frames (Gulati et al., Interspeech'20)
  nerf             7 layers of 64 on 65,536 rows (Mildenhall et al., ECCV'20, as Welder has it)
  attention        scores, softmax, weighted values: 12 heads x 512 positions x 64
  unet-like        3 levels on 128 x 128 (Ronneberger et al., MICCAI'15); --side sets another size
  gpt2-prefill     GPT-2 small on 128 tokens after its embedding, 4 blocks (Radford et al., 2019)
  efficientnet-b0  224 x 224 (Tan, Le, ICML'19)
"""

import argparse
import math
import sys

import onnx_file
from onnx_file import Model, Node, Tensor, Values, float_scalar, int64_tensor

OPSET = 17


class Net:
    def __init__(self, name, inputs):
        self.name, self.inputs = name, inputs
        self.nodes, self.constants = [], {}

    def add(self, op, *inputs, outputs=1, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        made = [f"{name}_out{i}" for i in range(outputs)]
        self.nodes.append(Node(op, list(inputs), made, attributes, name))
        return made[0] if outputs == 1 else made

    def weight(self, *shape, fan_in=None, middle=0.0, half_width=None):
        name = f"w{len(self.constants)}"
        width = half_width or math.sqrt(3 / (fan_in or shape[0]))
        self.constants[name] = Tensor(list(shape), Values(middle, width))
        return name

    def scalar(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = float_scalar(value)
        return name

    def shape(self, *extents):
        name = f"s{len(self.constants)}"
        self.constants[name] = int64_tensor(list(extents))
        return name

    def model(self, output, shape):
        self.nodes[-1].outputs = ["output"]
        return Model(self.name, OPSET, self.inputs, [("output", shape)], self.nodes, self.constants)

    # Layers.
    def linear(self, x, rows, columns):
        made = self.add("MatMul", x, self.weight(rows, columns))
        return self.add("Add", made, self.weight(columns, half_width=0.1))

    def norm(self, x, width):
        scale = self.weight(width, middle=1.0, half_width=0.2)
        return self.add("LayerNormalization", x, scale, self.weight(width, half_width=0.1), axis=-1)

    def gelu(self, x):
        erf = self.add("Erf", self.add("Div", x, self.scalar(math.sqrt(2))))
        scaled = self.add("Mul", x, self.add("Add", erf, self.scalar(1)))
        return self.add("Mul", scaled, self.scalar(0.5))

    def swish(self, x):
        return self.add("Mul", x, self.add("Sigmoid", x))

    def conv(self, x, c, o, k=1, stride=1, group=1, act=None):
        w = self.weight(o, c // group, k, k, fan_in=c // group * k * k)
        pad = k // 2
        made = self.add(
            "Conv",
            x,
            w,
            self.weight(o, half_width=0.1),
            kernel_shape=[k, k],
            strides=[stride] * 2,
            pads=[pad] * 4,
            group=group,
        )
        return act(made) if act else made

    def relu(self, x):
        return self.add("Relu", x)

    # `x`: [groups, tokens, width].
    def attention(self, x, groups, tokens, width, heads, mask=None):
        def split(y):
            y = self.add("Reshape", y, self.shape(groups, tokens, heads, width // heads))
            return self.add("Transpose", y, perm=[0, 2, 1, 3])

        q, k, v = (split(self.linear(x, width, width)) for _ in range(3))
        scores = self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.add("Div", scores, self.scalar(math.sqrt(width // heads)))
        if mask:
            scores = self.add("Add", scores, mask)
        made = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
        made = self.add("Transpose", made, perm=[0, 2, 1, 3])
        made = self.add("Reshape", made, self.shape(groups, tokens, width))
        return self.linear(made, width, width)

    def mlp(self, x, width, inner):
        return self.linear(self.gelu(self.linear(x, width, inner)), inner, width)

    def block(self, x, groups, tokens, width, heads, mask=None):
        y = self.attention(self.norm(x, width), groups, tokens, width, heads, mask)
        x = self.add("Add", x, y)
        return self.add("Add", x, self.mlp(self.norm(x, width), width, 4 * width))


def vit_s(_):
    n = Net("vit-s", [("x", [1, 3, 224, 224])])
    w = n.weight(384, 3, 32, 32, fan_in=3072)
    x = n.add("Conv", "x", w, kernel_shape=[32, 32], strides=[32, 32])
    x = n.add("Transpose", n.add("Reshape", x, n.shape(1, 384, 49)), perm=[0, 2, 1])
    x = n.add("Concat", n.weight(1, 1, 384, half_width=1), x, axis=1)
    x = n.add("Add", x, n.weight(1, 50, 384, half_width=1))
    for _ in range(12):
        x = n.block(x, 1, 50, 384, 6)
    return n.model(n.norm(x, 384), [1, 50, 384])


def swin_like(_):
    side, width, window = 28, 96, 7
    n = Net("swin-like", [("x", [1, side, side, width])])
    x, w = "x", side // window
    for i in range(4):
        y = n.norm(x, width)
        shift = window // 2 if i % 2 else 0
        if shift:  # a cyclic shift of rows and columns
            for axis in (1, 2):
                cut = n.shape(shift, side - shift)
                a, b = n.add("Split", y, cut, outputs=2, axis=axis)
                y = n.add("Concat", b, a, axis=axis)
        y = n.add("Reshape", y, n.shape(w, window, w, window, width))
        y = n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1, 3, 4]), n.shape(w * w, 49, width))
        y = n.attention(y, w * w, 49, width, 3)
        y = n.add("Reshape", y, n.shape(w, w, window, window, width))
        y = n.add("Transpose", y, perm=[0, 2, 1, 3, 4])
        y = n.add("Reshape", y, n.shape(1, side, side, width))
        if shift:
            for axis in (1, 2):
                cut = n.shape(side - shift, shift)
                a, b = n.add("Split", y, cut, outputs=2, axis=axis)
                y = n.add("Concat", b, a, axis=axis)
        x = n.add("Add", x, y)
        x = n.add("Add", x, n.mlp(n.norm(x, width), width, 4 * width))
    return n.model(n.norm(x, width), [1, side, side, width])


def convnext_like(_):
    n = Net("convnext-like", [("x", [1, 3, 224, 224])])
    width = 96
    x = n.add("Conv", "x", n.weight(width, 3, 4, 4, fan_in=48), kernel_shape=[4, 4], strides=[4, 4])
    for stage in range(3):
        if stage:
            w = n.weight(2 * width, width, 2, 2, fan_in=4 * width)
            x = n.add("Conv", x, w, kernel_shape=[2, 2], strides=[2, 2])
            width *= 2
        for _ in range(2):
            y = n.conv(x, width, width, 7, group=width)
            y = n.norm(n.add("Transpose", y, perm=[0, 2, 3, 1]), width)
            y = n.add("Transpose", n.mlp(y, width, 4 * width), perm=[0, 3, 1, 2])
            x = n.add("Add", x, y)
    x = n.add("GlobalAveragePool", x)
    return n.model(x, [1, width, 1, 1])


def conformer_like(_):
    frames, width = 128, 144
    n = Net("conformer-like", [("x", [1, frames, width])])
    x = "x"

    def half(y):
        y = n.linear(n.swish(n.linear(n.norm(y, width), width, 4 * width)), 4 * width, width)
        return n.add("Mul", y, n.scalar(0.5))

    for _ in range(2):
        x = n.add("Add", x, half(x))
        x = n.add("Add", x, n.attention(n.norm(x, width), 1, frames, width, 4))
        y = n.linear(n.norm(x, width), width, 2 * width)
        a, b = n.add("Split", y, n.shape(width, width), outputs=2, axis=2)
        y = n.add("Transpose", n.add("Mul", a, n.add("Sigmoid", b)), perm=[0, 2, 1])
        w = n.weight(width, 1, 31, fan_in=31)
        y = n.add("Conv", y, w, kernel_shape=[31], pads=[15, 15], group=width)
        y = n.linear(n.swish(n.add("Transpose", y, perm=[0, 2, 1])), width, width)
        x = n.add("Add", x, y)
        x = n.add("Add", x, half(x))
        x = n.norm(x, width)
    return n.model(x, [1, frames, width])


def nerf(_):
    n = Net("nerf", [("x", [65536, 64])])
    x = "x"
    for _ in range(7):
        x = n.relu(n.add("MatMul", x, n.weight(64, 64)))
    return n.model(x, [65536, 64])


def attention(_):
    heads, positions, width = 12, 512, 64
    shape = [heads, positions, width]
    n = Net("attention", [("q", shape), ("k", [heads, width, positions]), ("v", shape)])
    scores = n.add("Mul", n.add("MatMul", "q", "k"), n.scalar(0.125))
    return n.model(n.add("MatMul", n.add("Softmax", scores, axis=-1), "v"), shape)


def unet_like(options):
    side, width = options.side, 16
    n = Net("unet-like", [("x", [1, 3, side, side])])
    x, c, skips = "x", 3, []
    for level in range(3):
        o = width << level
        x = n.conv(n.conv(x, c, o, 3, act=n.relu), o, o, 3, act=n.relu)
        skips.append((x, o))
        x, c = n.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), o
    x = n.conv(x, c, 2 * c, 3, act=n.relu)
    c *= 2
    for skip, o in reversed(skips):
        w = n.weight(c, o, 2, 2, fan_in=c)
        x = n.add("ConvTranspose", x, w, kernel_shape=[2, 2], strides=[2, 2])
        x = n.add("Concat", x, skip, axis=1)
        x = n.conv(n.conv(x, 2 * o, o, 3, act=n.relu), o, o, 3, act=n.relu)
        c = o
    return n.model(n.conv(x, c, 2), [1, 2, side, side])


def gpt2_prefill(_):
    tokens, width = 128, 768
    n = Net("gpt2-prefill", [("x", [1, tokens, width]), ("mask", [1, 1, tokens, tokens])])
    x = "x"
    for _ in range(4):
        x = n.block(x, 1, tokens, width, 12, "mask")
    return n.model(n.norm(x, width), [1, tokens, width])


# Of each stage: blocks, channels, expansion, kernel, stride.
EFFICIENTNET_B0 = [
    (1, 16, 1, 3, 1),
    (2, 24, 6, 3, 2),
    (2, 40, 6, 5, 2),
    (3, 80, 6, 3, 2),
    (3, 112, 6, 5, 1),
    (4, 192, 6, 5, 2),
    (1, 320, 6, 3, 1),
]


def efficientnet_b0(_):
    n = Net("efficientnet-b0", [("x", [1, 3, 224, 224])])
    x, c = n.conv("x", 3, 32, 3, 2, act=n.swish), 32
    for blocks, o, expansion, k, stride in EFFICIENTNET_B0:
        for i in range(blocks):
            inner = c * expansion
            y = n.conv(x, c, inner, act=n.swish) if expansion > 1 else x
            y = n.conv(y, inner, inner, k, stride if i == 0 else 1, inner, act=n.swish)
            gate = n.conv(n.add("GlobalAveragePool", y), inner, max(1, c // 4), act=n.swish)
            gate = n.add("Sigmoid", n.conv(gate, max(1, c // 4), inner))
            y = n.conv(n.add("Mul", y, gate), inner, o)
            x = n.add("Add", x, y) if i else y
            c = o
    x = n.add("GlobalAveragePool", n.conv(x, c, 1280, act=n.swish))
    x = n.linear(n.add("Flatten", x, axis=1), 1280, 1000)
    return n.model(x, [1, 1000])


NETWORKS = {
    "vit-s": vit_s,
    "swin-like": swin_like,
    "convnext-like": convnext_like,
    "conformer-like": conformer_like,
    "nerf": nerf,
    "attention": attention,
    "unet-like": unet_like,
    "gpt2-prefill": gpt2_prefill,
    "efficientnet-b0": efficientnet_b0,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("network", nargs="?", choices=NETWORKS)
    parser.add_argument("-o", "--output")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--side", type=int, default=128, help="of unet-like's image")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.list:
        print("\n".join(NETWORKS))
        return 0
    if not options.network or not options.output:
        parser.error("a network and --output are needed")
    onnx_file.write(NETWORKS[options.network](options), options.output, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
