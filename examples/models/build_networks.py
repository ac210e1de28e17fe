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
  inception-v3     299 x 299 (Szegedy et al., CVPR'16)
  resnext29        8 groups of 64, 32 x 32 (Xie et al., CVPR'17)
  resnext29-paths  16 paths of 64 apart, as Rammer (OSDI'20) has it
  alexnet          one tower, 227 x 227 (Krizhevsky, 2014)
  nasnet-cell-stack  6 normal and 2 reduction cells of NASNet-A, 32 x 32 (Zoph et al., CVPR'18)
  nasnet-cell      one normal cell of it, 44 filters
  lstm             8 layers of 256 over 100 steps (Hochreiter, Schmidhuber, 1997)
  gru-seq2seq      2 layers of 256 over 30 steps, whose states begin 2 over 20 (Cho et al., 2014)
  deepspeech2      2 convolutions and 7 LSTM layers of 256 on 300 frames (Amodei et al., ICML'16)
  moe              8 experts of 1024 on 16 tokens of 512, all of them computed (Jacobs et al., 1991)
"""

import argparse
import sys

import onnx_file
from image_networks import (
    alexnet,
    convnext_like,
    efficientnet_b0,
    inception_v3,
    nasnet_cell,
    nasnet_cell_stack,
    resnext29,
    resnext29_paths,
    unet_like,
)
from net import Net
from sequence_networks import deepspeech2, gru_seq2seq, lstm, moe

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


def gpt2_prefill(_):
    tokens, width = 128, 768
    n = Net("gpt2-prefill", [("x", [1, tokens, width]), ("mask", [1, 1, tokens, tokens])])
    x = "x"
    for _ in range(4):
        x = n.block(x, 1, tokens, width, 12, "mask")
    return n.model(n.norm(x, width), [1, tokens, width])


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
    "inception-v3": inception_v3,
    "resnext29": resnext29,
    "resnext29-paths": resnext29_paths,
    "alexnet": alexnet,
    "nasnet-cell": nasnet_cell,
    "nasnet-cell-stack": nasnet_cell_stack,
    "lstm": lstm,
    "gru-seq2seq": gru_seq2seq,
    "deepspeech2": deepspeech2,
    "moe": moe,
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
