"""A network that is put together operator by operator, with the layers that several share."""

import math

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
