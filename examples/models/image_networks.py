"""Networks of images for build_networks.py, which lists them."""

from net import Net


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


# A convolution and its relu; `k`: the kernel's sides.
def conv_relu(n, x, c, o, k, stride=1, pad=(0, 0)):
    w = n.weight(o, c, *k, fan_in=c * k[0] * k[1])
    made = n.add(
        "Conv",
        x,
        w,
        n.weight(o, half_width=0.1),
        kernel_shape=list(k),
        strides=[stride] * 2,
        pads=list(pad) * 2,
    )
    return n.relu(made)


def pool(n, op, x, k=3, stride=1, pad=0):
    return n.add(op, x, kernel_shape=[k] * 2, strides=[stride] * 2, pads=[pad] * 4)


# A chain of convolutions: (channels, kernel's sides), padded to keep the image's size.
def tower(n, x, c, *steps):
    for o, k in steps:
        x, c = conv_relu(n, x, c, o, k, pad=(k[0] // 2, k[1] // 2)), o
    return x


ONE, THREE, FIVE, ROW, COLUMN = (1, 1), (3, 3), (5, 5), (1, 7), (7, 1)


def inception_a(n, x, c, pooled):
    parts = [
        tower(n, x, c, (64, ONE)),
        tower(n, x, c, (48, ONE), (64, FIVE)),
        tower(n, x, c, (64, ONE), (96, THREE), (96, THREE)),
        tower(n, pool(n, "AveragePool", x, pad=1), c, (pooled, ONE)),
    ]
    return n.add("Concat", *parts, axis=1), 224 + pooled


def inception_c(n, x, c, inner):
    parts = [
        tower(n, x, c, (192, ONE)),
        tower(n, x, c, (inner, ONE), (inner, ROW), (192, COLUMN)),
        tower(n, x, c, (inner, ONE), (inner, COLUMN), (inner, ROW), (inner, COLUMN), (192, ROW)),
        tower(n, pool(n, "AveragePool", x, pad=1), c, (192, ONE)),
    ]
    return n.add("Concat", *parts, axis=1), 768


def inception_e(n, x, c):
    def fork(y, inputs):
        return [tower(n, y, inputs, (384, k)) for k in ((1, 3), (3, 1))]

    parts = [tower(n, x, c, (320, ONE))]
    parts += fork(tower(n, x, c, (384, ONE)), 384)
    parts += fork(tower(n, x, c, (448, ONE), (384, THREE)), 384)
    parts.append(tower(n, pool(n, "AveragePool", x, pad=1), c, (192, ONE)))
    return n.add("Concat", *parts, axis=1), 2048


# Halves the image: the last convolution of each chain does, and so does the pool.
def inception_reduction(n, x, c, *chains):
    parts, channels = [], c
    for steps in chains:
        y, inner = tower(n, x, c, *steps[:-1]), steps[-2][0] if len(steps) > 1 else c
        parts.append(conv_relu(n, y, inner, steps[-1][0], steps[-1][1], 2))
        channels += steps[-1][0]
    return n.add("Concat", *parts, pool(n, "MaxPool", x, 3, 2), axis=1), channels


def inception_v3(_):
    n = Net("inception-v3", [("x", [1, 3, 299, 299])])
    x = conv_relu(n, "x", 3, 32, THREE, 2)
    x = conv_relu(n, conv_relu(n, x, 32, 32, THREE), 32, 64, THREE, pad=(1, 1))
    x = conv_relu(n, pool(n, "MaxPool", x, 3, 2), 64, 80, ONE)
    x = pool(n, "MaxPool", conv_relu(n, x, 80, 192, THREE), 3, 2)
    c = 192
    for pooled in (32, 64, 64):
        x, c = inception_a(n, x, c, pooled)
    x, c = inception_reduction(n, x, c, [(384, THREE)], [(64, ONE), (96, THREE), (96, THREE)])
    for inner in (128, 160, 160, 192):
        x, c = inception_c(n, x, c, inner)
    x, c = inception_reduction(
        n,
        x,
        c,
        [(192, ONE), (320, THREE)],
        [(192, ONE), (192, ROW), (192, COLUMN), (192, THREE)],
    )
    for _ in range(2):
        x, c = inception_e(n, x, c)
    x = n.add("Flatten", n.add("GlobalAveragePool", x), axis=1)
    return n.model(n.linear(x, c, 1000), [1, 1000])


def resnext29(_):
    groups, n = 8, Net("resnext29", [("x", [1, 3, 32, 32])])
    x, c = n.conv("x", 3, 64, 3, act=n.relu), 64
    for stage in range(3):
        inner, o = groups * 64 << stage, 256 << stage
        for block in range(3):
            stride = 2 if stage and block == 0 else 1
            y = n.conv(x, c, inner, act=n.relu)
            y = n.conv(n.conv(y, inner, inner, 3, stride, groups, act=n.relu), inner, o)
            x = n.relu(n.add("Add", y, x if block else n.conv(x, c, o, stride=stride)))
            c = o
    x = n.add("Flatten", n.add("GlobalAveragePool", x), axis=1)
    return n.model(n.linear(x, c, 10), [1, 10])


# A residual block whose paths are convolutions of their own: (channels in, out, paths).
def paths_block(n, x, c, o, paths, stride):
    parts = []
    for _ in range(paths):
        y = n.conv(x, c, 64, 1, stride, act=n.relu)
        parts.append(n.conv(y, 64, 64, 3, act=n.relu))
    y = n.conv(n.add("Concat", *parts, axis=1), 64 * paths, o)
    if stride > 1:
        x = pool(n, "AveragePool", x, 2, 2)
    if o > c:
        x = n.add("Pad", x, n.shape(0, 0, 0, 0, 0, o - c, 0, 0))
    return n.relu(n.add("Add", y, x))


# With 16 paths of 64 channels in each block, none of them joined (Rammer, OSDI'20, ResNeXt-29).
def resnext29_paths(_):
    n = Net("resnext29-paths", [("x", [1, 3, 32, 32])])
    x, c = n.conv("x", 3, 64, 3, act=n.relu), 64
    for stage in range(3):
        for block in range(3):
            x = paths_block(n, x, c, 64 << stage, 16, 2 if stage and block == 0 else 1)
            c = 64 << stage
    x = n.add("Flatten", n.add("GlobalAveragePool", x), axis=1)
    return n.model(n.linear(x, c, 10), [1, 10])


def alexnet(_):
    n = Net("alexnet", [("x", [1, 3, 227, 227])])
    x = pool(n, "MaxPool", conv_relu(n, "x", 3, 64, (11, 11), 4), 3, 2)
    x = pool(n, "MaxPool", conv_relu(n, x, 64, 192, FIVE, pad=(2, 2)), 3, 2)
    x = tower(n, x, 192, (384, THREE), (384, THREE), (256, THREE))
    x, c = n.add("Flatten", pool(n, "MaxPool", x, 3, 2), axis=1), 256 * 6 * 6
    for width in (4096, 4096):
        x, c = n.relu(n.linear(x, c, width)), width
    return n.model(n.linear(x, c, 1000), [1, 1000])


# Two depthwise convolutions, each with one over channels behind it.
def separable(n, x, c, k, stride=1):
    for s in (stride, 1):
        x = n.conv(n.conv(n.relu(x), c, c, k, s, group=c), c, c)
    return x


# To `o` channels. An image that is twice as large loses every second row and column: half of the
# channels come of the even ones, half of the odd ones.
def fitted(n, x, c, o, halve):
    x = n.relu(x)
    if not halve:
        return n.conv(x, c, o)
    parts = []
    for first in (0, 1):
        ends, axes = n.shape(1 << 30, 1 << 30), n.shape(2, 3)
        y = n.add("Slice", x, n.shape(first, first), ends, axes, n.shape(2, 2))
        parts.append(n.conv(y, c, o // 2))
    return n.add("Concat", *parts, axis=1)


def normal_cell(n, before, x, f):
    p, h = before, x
    average = pool(n, "AveragePool", p, 3, 1, 1)
    parts = [
        p,
        n.add("Add", separable(n, h, f, 5), separable(n, p, f, 3)),
        n.add("Add", separable(n, p, f, 5), separable(n, p, f, 3)),
        n.add("Add", pool(n, "AveragePool", h, 3, 1, 1), p),
        n.add("Add", average, average),
        n.add("Add", separable(n, h, f, 3), h),
    ]
    return n.add("Concat", *parts, axis=1)


def reduction_cell(n, before, x, f):
    p, h = before, x
    a = n.add("Add", separable(n, h, f, 5, 2), separable(n, p, f, 7, 2))
    largest = pool(n, "MaxPool", h, 3, 2, 1)
    b = n.add("Add", largest, separable(n, p, f, 7, 2))
    average = pool(n, "AveragePool", h, 3, 2, 1)
    c = n.add("Add", average, separable(n, p, f, 5, 2))
    d = n.add("Add", pool(n, "AveragePool", a, 3, 1, 1), b)
    e = n.add("Add", separable(n, a, f, 3), largest)
    return n.add("Concat", b, c, d, e, axis=1)


# The first normal cell of the stack, by itself.
def nasnet_cell(_):
    f = 44
    image = [1, f, 32, 32]
    n = Net("nasnet-cell", [("before", image), ("x", image)])
    return n.model(normal_cell(n, "before", "x", f), [1, 6 * f, 32, 32])


def nasnet_cell_stack(_):
    f, side, n = 44, 32, Net("nasnet-cell-stack", [("x", [1, 3, 32, 32])])
    x = n.conv("x", 3, 3 * f, 3)
    before, widths, sides = x, (3 * f, 3 * f), (side, side)  # of `before` and of x
    for kind in "nn.nn.nn":
        f *= 2 if kind == "." else 1
        cell = reduction_cell if kind == "." else normal_cell
        p = fitted(n, before, widths[0], f, sides[0] > sides[1])
        made = cell(n, p, n.conv(n.relu(x), widths[1], f), f)
        before, x = x, made
        widths = (widths[1], (4 if kind == "." else 6) * f)
        sides = (sides[1], sides[1] // 2 if kind == "." else sides[1])
    x = n.add("Flatten", n.add("GlobalAveragePool", n.relu(x)), axis=1)
    return n.model(n.linear(x, widths[1], 10), [1, 10])
