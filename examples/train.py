#!/usr/bin/env python3
"""Train a small network with PyTorch, as a job of heshare: copy what is marked.

    heshare profile --jobs jobs.csv -- ./train.py --batch {batch} --iterations {iterations}
    heshare run plan.json -c './train.py --batch {batch} --iterations {iterations} --save {job}.pt'

It prints progress lines. At SIGTERM it saves, so that another attempt or `heshare run
--resume` goes on from there. The images are random, with a class that can be learnt.
"""
import argparse
import os
import signal
import time

import torch
from torch import nn

EVERY_S = 1.0  # between two progress lines, and so between two waits for the GPU


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--iterations", type=int, default=1000)
    p.add_argument("--save", metavar="FILE", help="go on from this file, and save to it")
    p.add_argument("--save-every", type=float, default=300, metavar="S")
    p.add_argument("--cpu", action="store_true", help="without a GPU")
    return p.parse_args()


def network():
    layers = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 4 * 4, 10))


def images(batch, device):
    """Noise, brighter in one of ten rows: its class."""
    y = torch.randint(10, (batch,), device=device)
    x = torch.randn(batch, 3, 32, 32, device=device)
    x[torch.arange(batch, device=device), :, 3 * y, :] += 1
    return x, y


def save(path, done, model, optimizer):
    """The old file stays until the new one is complete."""
    state = {"done": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def main():
    o = arguments()
    if not o.cpu and not torch.cuda.is_available():
        raise SystemExit("train.py: PyTorch finds no GPU; --cpu trains without one")
    # heshare gives the job its GPU in CUDA_VISIBLE_DEVICES: it is the only one here.
    device = torch.device("cpu" if o.cpu else "cuda")
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()

    done = 0
    if o.save and os.path.exists(o.save):
        state = torch.load(o.save, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        done = state["done"]

    # heshare: SIGTERM asks the job to end. Finish the iteration, save, end.
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))

    start = said = saved = time.monotonic()
    while done < o.iterations and not stop:
        x, y = images(o.batch, device)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        done += 1

        now = time.monotonic()
        if now - said >= EVERY_S or done == o.iterations:
            value = loss.item()  # waits until the GPU has done what was issued
            # heshare: the line that it reads, N counted from the job's first attempt. Flush it.
            print("heshare: %d iterations" % done, flush=True)
            print("loss %.4f after %.1f s" % (value, time.monotonic() - start), flush=True)
            said = now
        if o.save and now - saved >= o.save_every:
            save(o.save, done, model, optimizer)
            saved = now

    if o.save:
        save(o.save, done, model, optimizer)
    # heshare: another status than 0 where work is left. 143 is that of a job that SIGTERM ended.
    raise SystemExit(0 if done >= o.iterations else 128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
