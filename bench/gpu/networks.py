"""
The networks of HeShare's Table IV with random weights, in PyTorch alone, so that every GPU runs the same code.

Names are those of data/physics.yaml, and an item has the operations of its gflop_per_item: image networks take 224 x 224
pixels, BERT 128 tokens, GPT-2 512, the transformer 128 source and 128 target tokens. All run forward passes without
gradients. Weights keep activations within what half precision holds (prepare()). The published architectures: VGG
(Simonyan, 2015; with batch norm left out), ResNet (He, 2016), DenseNet (Huang, 2017), MobileNet (Howard, 2017),
MobileNetV2 (Sandler, 2018), Transformer base (Vaswani, 2017), BERT Large (Devlin, 2019), GPT-2 (Radford, 2019).
"""
import contextlib

import torch
from torch import nn
from torch.nn import functional as F

PIXELS = 224
STATISTICS = 8  # items that the statistics of batch norm are taken from


def conv(i, o, k, stride=1, groups=1, relu=nn.ReLU):
    layers = [nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([relu(inplace=True)] if relu else []))


class Residual(nn.Module):
    """A basic (two 3x3) or bottleneck (1x1, 3x3, 1x1) block of ResNet."""

    def __init__(self, i, width, stride, bottleneck):
        super().__init__()
        o = width * (4 if bottleneck else 1)
        if bottleneck:
            self.body = nn.Sequential(
                conv(i, width, 1), conv(width, width, 3, stride), conv(width, o, 1, relu=None)
            )
        else:
            self.body = nn.Sequential(conv(i, width, 3, stride), conv(width, o, 3, relu=None))
        self.skip = nn.Identity() if i == o and stride == 1 else conv(i, o, 1, stride, relu=None)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


def resnet(depths, bottleneck):
    layers, i = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate(depths):
        for block in range(depth):
            width = 64 << stage
            layers.append(Residual(i, width, 2 if stage and not block else 1, bottleneck))
            i = width * (4 if bottleneck else 1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, 1000))


class Dense(nn.Module):
    """A layer of DenseNet: its output joins what it was given."""

    def __init__(self, i, growth):
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm2d(i),
            nn.ReLU(inplace=True),
            nn.Conv2d(i, 4 * growth, 1, bias=False),
            nn.BatchNorm2d(4 * growth),
            nn.ReLU(inplace=True),
            nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
        )

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet(depths, growth, first):
    layers, i = [conv(3, first, 7, 2), nn.MaxPool2d(3, 2, 1)], first
    for stage, depth in enumerate(depths):
        for _ in range(depth):
            layers.append(Dense(i, growth))
            i += growth
        if stage < len(depths) - 1:
            layers += [
                nn.BatchNorm2d(i),
                nn.ReLU(inplace=True),
                nn.Conv2d(i, i // 2, 1, bias=False),
                nn.AvgPool2d(2, 2),
            ]
            i //= 2
    return nn.Sequential(
        *layers,
        nn.BatchNorm2d(i),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(i, 1000)
    )


def vgg(depths):
    layers, i = [], 3
    for stage, depth in enumerate(depths):
        o = min(64 << stage, 512)
        for _ in range(depth):
            layers += [nn.Conv2d(i, o, 3, padding=1), nn.ReLU(inplace=True)]
            i = o
        layers.append(nn.MaxPool2d(2, 2))
    return nn.Sequential(
        *layers,
        nn.AdaptiveAvgPool2d(7),
        nn.Flatten(),
        nn.Linear(512 * 49, 4096),
        nn.ReLU(inplace=True),
        nn.Linear(4096, 4096),
        nn.ReLU(inplace=True),
        nn.Linear(4096, 1000)
    )


def mobilenet():
    layers, i = [conv(3, 32, 3, 2)], 32
    plan = (
        [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
        + 5 * [(512, 1)]
        + [(1024, 2), (1024, 1)]
    )
    for o, stride in plan:
        layers += [conv(i, i, 3, stride, groups=i), conv(i, o, 1)]
        i = o
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, 1000))


class Inverted(nn.Module):
    """An inverted residual of MobileNetV2."""

    def __init__(self, i, o, stride, expand):
        super().__init__()
        h = i * expand
        layers = [conv(i, h, 1, relu=nn.ReLU6)] if expand > 1 else []
        self.body = nn.Sequential(
            *layers, conv(h, h, 3, stride, groups=h, relu=nn.ReLU6), conv(h, o, 1, relu=None)
        )
        self.skip = stride == 1 and i == o

    def forward(self, x):
        return x + self.body(x) if self.skip else self.body(x)


def mobilenetv2():
    layers, i = [conv(3, 32, 3, 2, relu=nn.ReLU6)], 32
    for expand, o, n, stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for block in range(n):
            layers.append(Inverted(i, o, stride if not block else 1, expand))
            i = o
    return nn.Sequential(
        *layers,
        conv(i, 1280, 1, relu=nn.ReLU6),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(1280, 1000)
    )


def attend(q, k, v, causal):
    """Scaled dot-product attention; the framework's own where it has one."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(
            torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1), float("-inf")
        )
    return scores.softmax(-1) @ v


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.q, self.kv, self.out = (
            nn.Linear(width, width),
            nn.Linear(width, 2 * width),
            nn.Linear(width, width),
        )
        self.heads, self.causal = heads, causal

    def _split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory):
        k, v = self.kv(memory).chunk(2, -1)
        y = attend(self._split(self.q(x)), self._split(k), self._split(v), self.causal)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    """Attention and a feed-forward part; normalised before (GPT-2) or after (BERT, Transformer)."""

    def __init__(self, width, heads, hidden, causal=False, before=False, memory=False, act=nn.GELU):
        super().__init__()
        self.attention = Attention(width, heads, causal)
        self.cross = Attention(width, heads) if memory else None
        self.feed = nn.Sequential(nn.Linear(width, hidden), act(), nn.Linear(hidden, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if memory else 2))
        self.before = before

    def forward(self, x, memory=None):
        if self.before:
            y = self.norms[0](x)
            x = x + self.attention(y, y)
            return x + self.feed(self.norms[1](x))
        x = self.norms[0](x + self.attention(x, x))
        if self.cross:
            x = self.norms[2](x + self.cross(x, memory))
        return self.norms[1](x + self.feed(x))


class Language(nn.Module):
    """Tokens to hidden states (BERT) or to next-token scores by the embedding's own weights (GPT-2)."""

    def __init__(self, words, width, heads, layers, causal, scores):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
        self.blocks = nn.ModuleList(
            Block(width, heads, 4 * width, causal, causal) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.scores = scores

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return F.linear(x, self.words.weight) if self.scores else x


class Translator(nn.Module):
    """The base Transformer: six encoders, six decoders, all target tokens at once, one embedding for input and output."""

    def __init__(self, words=32000, width=512, heads=8, layers=6):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
        self.encoder = nn.ModuleList(Block(width, heads, 2048, act=nn.ReLU) for _ in range(layers))
        self.decoder = nn.ModuleList(
            Block(width, heads, 2048, True, memory=True, act=nn.ReLU) for _ in range(layers)
        )

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        memory = x
        for block in self.encoder:
            memory = block(memory)
        for block in self.decoder:
            x = block(x, memory)
        return F.linear(x, self.words.weight)


def bert_large():
    return Language(30522, 1024, 16, 24, causal=False, scores=False)


def gpt2():
    return Language(50257, 768, 12, 12, causal=True, scores=True)


IMAGE = {
    "mobilenet": mobilenet,
    "mobilenetv2": mobilenetv2,
    "resnet18": lambda: resnet((2, 2, 2, 2), False),
    "resnet34": lambda: resnet((3, 4, 6, 3), False),
    "resnet50": lambda: resnet((3, 4, 6, 3), True),
    "resnet101": lambda: resnet((3, 4, 23, 3), True),
    "resnet152": lambda: resnet((3, 8, 36, 3), True),
    "densenet121": lambda: densenet((6, 12, 24, 16), 32, 64),
    "densenet161": lambda: densenet((6, 12, 36, 24), 48, 96),
    "densenet201": lambda: densenet((6, 12, 48, 32), 32, 64),
    "vgg16": lambda: vgg((2, 2, 3, 3, 3)),
    "vgg19": lambda: vgg((2, 2, 4, 4, 4)),
}
TEXT = {
    "bert-large": (bert_large, 128),
    "gpt2": (gpt2, 512),
    "transformer": (Translator, 128),
}  # tokens an item


def on(device):
    """Modules made within lie on the device from their start, where this PyTorch can (2.0); else build() moves them."""
    return (
        torch.device(device) if hasattr(torch, "set_default_device") else contextlib.nullcontext()
    )


def prepare(model, shape, device):
    """
    Weights whose activations neither die out nor overflow in half precision: He's initialisation before rectifiers
    (Bert's 0.02 elsewhere), and batch norm with the statistics of random items, in single precision.
    """
    image = shape is not None
    for m in model.modules():
        if isinstance(m, nn.Conv2d) or (image and isinstance(m, nn.Linear)):
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        elif isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, (nn.Conv2d, nn.Linear)) and m.bias is not None:
            nn.init.zeros_(m.bias)
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    if not norms:
        return
    for m in norms:
        m.momentum = 1.0
    with torch.no_grad():
        model.train()(
            torch.randn(STATISTICS, *shape, device=device).to(memory_format=torch.channels_last)
        )


def build(name, batch, precision, device, small=False):
    """A network ready to run and its input. @param small  one tiny item instead of a batch: for tests on a CPU"""
    torch.manual_seed(1)
    batch = 1 if small else batch
    image = name in IMAGE
    make, tokens = (IMAGE[name], None) if image else TEXT[name]
    with on(device):
        model = make()
    model = model.to(device)
    side = 32 if small else PIXELS
    if image:
        model = model.to(memory_format=torch.channels_last)
        x = torch.randn(batch, 3, side, side, device=device).to(memory_format=torch.channels_last)
    else:
        x = torch.randint(0, 30000, (batch, 8 if small else tokens), device=device)
    prepare(model, (3, side, side) if image else None, device)
    model.eval()
    if precision == "fp16":
        model = model.half()
        x = x.half() if image else x
    return model, x
