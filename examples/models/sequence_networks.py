"""Recurrent networks and a mixture of experts for build_networks.py, which lists them."""

from net import Net


# One layer over all steps as exporters write it: [steps, 1, hidden], and the last state.
def recurrent(n, op, x, inputs, hidden, state="", **attributes):
    rows = (4 if op == "LSTM" else 3) * hidden
    w = n.weight(1, rows, inputs, fan_in=inputs)
    r = n.weight(1, rows, hidden, fan_in=hidden)
    b = n.weight(1, 2 * rows, half_width=0.1)
    y, last = n.add(op, x, w, r, b, "", state, outputs=2, hidden_size=hidden, **attributes)
    return n.add("Squeeze", y, n.shape(1)), last


def lstm(_):
    steps, width = 100, 256
    n = Net("lstm", [("x", [steps, 1, width])])
    x = "x"
    for _ in range(8):
        x, _ = recurrent(n, "LSTM", x, width, width)
    return n.model(x, [steps, 1, width])


def gru_seq2seq(_):
    width, words = 256, 512
    n = Net("gru-seq2seq", [("source", [30, 1, width]), ("target", [20, 1, width])])
    x, states = "source", []
    for _ in range(2):
        x, last = recurrent(n, "GRU", x, width, width, linear_before_reset=1)
        states.append(last)
    x = "target"
    for state in states:
        x, _ = recurrent(n, "GRU", x, width, width, state, linear_before_reset=1)
    return n.model(n.linear(x, width, words), [20, 1, words])


# Frames of speech: two convolutions that shorten them, and seven layers over what is left.
def deepspeech2(_):
    frames, bands, width = 300, 171, 256
    n = Net("deepspeech2", [("x", [1, 1, frames, bands])])
    x, c = "x", 1
    for sides, strides in (([41, 11], [2, 2]), ([21, 11], [2, 1])):
        w = n.weight(32, c, *sides, fan_in=c * sides[0] * sides[1])
        pads = [s // 2 for s in sides] * 2
        b = n.weight(32, half_width=0.1)
        x = n.add("Conv", x, w, b, kernel_shape=sides, strides=strides, pads=pads)
        x, c = n.relu(x), 32
    steps, inputs = frames // 4, 32 * 86
    x = n.add("Reshape", n.add("Transpose", x, perm=[2, 0, 1, 3]), n.shape(steps, 1, inputs))
    for _ in range(7):
        x, _ = recurrent(n, "LSTM", x, inputs, width)
        inputs = width
    return n.model(n.linear(x, width, 29), [steps, 1, 29])


def moe(_):
    experts, width, inner, tokens = 8, 512, 1024, 16
    n = Net("moe", [("x", [tokens, width])])
    gates = n.add("Softmax", n.linear("x", width, experts), axis=-1)
    gates = n.add("Split", gates, n.shape(*[1] * experts), outputs=experts, axis=1)
    parts = [n.add("Mul", n.mlp("x", width, inner), gate) for gate in gates]
    return n.model(n.add("Sum", *parts), [tokens, width])
