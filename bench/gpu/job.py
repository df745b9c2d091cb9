#!/usr/bin/env python3
"""
bench/gpu/job.py --network NAME --batch N --iterations N - a network of Table IV with random weights, forward, as a job.

Prints "heshare: N iterations in T s" about five times a second, T since its first iteration, by a clock of its own: what
heshare profile and heshare run read. Needs PyTorch. --cpu runs a small one without a GPU, for tests.
"""
import argparse
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

EVERY_S = 0.2
IN_FLIGHT = 2  # iterations issued and not yet complete: the next one's launches hide behind the one that runs


def arguments():
    p = argparse.ArgumentParser(prog="job.py", description=__doc__.strip().split("\n", 1)[0])
    p.add_argument("--network", required=True)
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--iterations", type=int, required=True)
    p.add_argument("--cpu", action="store_true")
    return p.parse_args()


class Report:
    def __init__(self):
        self.start = self.last = time.monotonic()

    def say(self, done, always):
        now = time.monotonic()
        if always or now - self.last >= EVERY_S:
            self.last = now
            print("heshare: %d iterations in %.6f s" % (done, now - self.start), flush=True)


def run_cuda(torch, model, x, iterations):
    stream = torch.cuda.Stream()
    events = [torch.cuda.Event() for _ in range(IN_FLIGHT)]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.inference_mode():
        for _ in range(3):
            model(x)
        stream.synchronize()
        report = Report()
        for i in range(iterations):
            if i >= IN_FLIGHT:
                events[i % IN_FLIGHT].synchronize()
                report.say(i - IN_FLIGHT + 1, False)
            model(x)
            events[i % IN_FLIGHT].record(stream)
        stream.synchronize()
        report.say(iterations, True)


def run_cpu(torch, model, x, iterations):
    torch.set_num_threads(1)
    with torch.inference_mode():
        report = Report()
        for i in range(iterations):
            model(x)
            report.say(i + 1, i + 1 == iterations)


def main():
    o = arguments()
    import torch
    import networks
    import schedule

    device = "cpu" if o.cpu else "cuda"
    model, x = networks.build(o.network, o.batch, schedule.half_precision(device), device, o.cpu)
    (run_cpu if o.cpu else run_cuda)(torch, model, x, o.iterations)


if __name__ == "__main__":
    main()
