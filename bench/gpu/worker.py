"""
The process that runs networks. It takes JSON commands on its standard input, one a line, and answers each with one
line; what a library prints there goes to standard error. A lane is a thread that repeats one network; lanes of one
process are for green contexts, where MPS is a process each.

Commands: load {lane, path, network, batch, precision, sms}, run {lanes}, join {lanes}, unload {lane}, quit.
A lane reads its run flag from, and counts and stamps its completions into, the shared file `path` (lanes.py).
The end of the input ends the process.
"""
import gc
import json
import os
import sys
import threading
import time
import traceback

import ring

IN_FLIGHT = 2  # iterations issued and not yet complete: the next one's launches hide behind the one that runs


class Lane:
    def __init__(self, command, device, small):
        import torch
        import networks

        self.torch = torch
        self.cuda = device == "cuda"
        self.ring = ring.Ring(command["path"])
        self.green = None
        if command.get("sms"):
            from torch.cuda.green_contexts import GreenContext

            try:
                self.green = GreenContext.create(num_sms=command["sms"], device_id=0)
            except TypeError:  # versions differ in the names
                self.green = GreenContext.create(command["sms"], 0)
        self.model, self.x = networks.build(
            command["network"], command["batch"], command["precision"], device, small
        )
        self.thread = None
        self.error = None
        with self._context():
            for _ in range(3):
                self._forward()
            if self.cuda:
                torch.cuda.synchronize()

    def _context(self):
        lane = self

        class Entered:
            def __enter__(self):
                if lane.green:
                    lane.green.set_context()
                return self

            def __exit__(self, *_):
                if lane.green:
                    lane.green.pop_context()

        return Entered()

    def _forward(self):
        with self.torch.inference_mode():
            return self.model(self.x)

    def _stream(self):
        """A stream of the lane's own; of its green context, whose SMs only the context's own streams keep to."""
        if self.green is None:
            return self.torch.cuda.Stream()
        return (
            self.green.Stream()
            if hasattr(self.green, "Stream")
            else self.torch.cuda.current_stream()
        )

    def _repeat_cuda(self):
        torch = self.torch
        stream = self._stream()
        events = [torch.cuda.Event() for _ in range(IN_FLIGHT)]
        issued = done = 0
        with torch.cuda.stream(stream):
            while self.ring.running():
                self._forward()
                events[issued % IN_FLIGHT].record(stream)
                issued += 1
                if issued - done == IN_FLIGHT:
                    events[done % IN_FLIGHT].synchronize()
                    self.ring.stamp(time.monotonic())
                    done += 1
            stream.synchronize()

    def _repeat_cpu(self):
        while self.ring.running():
            self._forward()
            self.ring.stamp(time.monotonic())

    def _main(self):
        try:
            with self._context():
                (self._repeat_cuda if self.cuda else self._repeat_cpu)()
        except Exception as e:  # join() reports how the lane ended
            self.error = "%s: %s" % (type(e).__name__, str(e)[-300:])

    def start(self):
        self.thread = threading.Thread(target=self._main)
        self.thread.start()

    def join(self):
        self.thread.join()
        return self.error

    def close(self):
        self.model = self.x = self.green = None
        self.ring.close()
        gc.collect()
        if self.cuda:
            self.torch.cuda.empty_cache()


def memory_mib(torch, cuda):
    if not cuda:
        return None
    return torch.cuda.memory_reserved() / 2**20


def hello(torch, device):
    if device != "cuda":
        torch.set_num_threads(1)
        return {
            "sms": None,
            "l2_kib": None,
            "software": {"torch": torch.__version__, "cuda": None, "cudnn": None},
        }
    torch.zeros(1, device="cuda")
    p = torch.cuda.get_device_properties(0)
    return {
        "sms": p.multi_processor_count,
        "l2_kib": getattr(p, "L2_cache_size", 0) // 1024 or None,
        "capability": list(torch.cuda.get_device_capability(0)),
        "software": {
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
        },
    }


def handle(command, lanes, torch, device, small):
    do = command["do"]
    if do == "load":
        lanes[command["lane"]] = Lane(command, device, small)
        return {"memory_mib": memory_mib(torch, device == "cuda")}
    if do == "run":
        for lane in command["lanes"]:
            lanes[lane].start()
        return {}
    if do == "join":
        errors = [e for e in [lanes[lane].join() for lane in command["lanes"]] if e]
        return {"error": errors[0]} if errors else {}
    if do == "unload":
        lanes.pop(command["lane"]).close()
        return {}
    return {"error": "unknown command %s" % do}


def main():
    device, small = sys.argv[1], "small" in sys.argv[2:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lanes = {}
    try:
        import torch

        print(json.dumps(hello(torch, device)), file=answers, flush=True)
    except Exception as e:
        print(
            json.dumps({"error": "%s: %s" % (type(e).__name__, str(e)[-300:])}),
            file=answers,
            flush=True,
        )
        return
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "quit":
            break
        try:
            answer = handle(command, lanes, torch, device, small)
        except Exception as e:
            traceback.print_exc()
            answer = {"error": "%s: %s" % (type(e).__name__, str(e)[-300:])}
        if "error" in answer:  # what was half made goes before the next command needs its memory
            gc.collect()
            if device == "cuda":
                torch.cuda.empty_cache()
        print(json.dumps(answer), file=answers, flush=True)
    for lane in lanes.values():
        lane.ring.stop()


if __name__ == "__main__":
    main()
