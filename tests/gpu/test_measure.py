#!/usr/bin/env python3
"""Tests of bench/gpu that need neither a GPU nor PyTorch. Prints TAP."""
import ctypes
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

ROOT = os.environ.get("HES_SOURCE_ROOT") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", ".."
)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench", "gpu"))

import gpu_data
import clocks
import guard
import lanes
import mps
import readme
import ring
import sampler
import schedule
import sensor
import stats
import tables
import windows

RECORDING = os.path.join(ROOT, "tests", "gpu", "recording.json")


class Statistics(unittest.TestCase):
    def test_variation_is_of_the_sample(self):
        self.assertAlmostEqual(stats.cv_pct([9, 11]), 100 * math.sqrt(2) / 10)
        self.assertIsNone(stats.cv_pct([5]))

    def test_quantiles_lie_between_order_statistics(self):
        self.assertEqual(stats.quantile([4, 1, 3, 2], 0.5), 2.5)
        self.assertEqual(stats.quantile([1, 2, 3], 1), 3)
        self.assertIsNone(stats.quantile([], 0.5))

    def test_refresh_of_a_sensor_read_faster_than_it_changes(self):
        series = [(0.01 * i, i // 10) for i in range(200)]
        self.assertAlmostEqual(stats.refresh_s(series), 0.1, places=6)

    def test_refresh_of_a_sensor_that_stands_still_is_unknown(self):
        self.assertIsNone(stats.refresh_s([(0.01 * i, 7) for i in range(200)]))

    def test_refresh_passes_over_missing_readings(self):
        series = [(0.01 * i, None if i % 3 == 0 else i // 10) for i in range(300)]
        self.assertAlmostEqual(stats.refresh_s(series), 0.1, delta=0.011)

    def test_integral_of_a_ramp_between_readings(self):
        self.assertAlmostEqual(stats.integral([(0, 0), (1, 10), (2, 20)], 0.5, 1.5), 10)

    def test_integral_of_a_stretch_without_readings_is_unknown(self):
        self.assertIsNone(stats.integral([(0, 1), (1, 1)], 0.5, 1.5))
        self.assertIsNone(stats.integral([(0, None), (1, None)], 0, 1))

    def test_counter_power_does_not_depend_on_the_refresh(self):
        # 200 W, a counter that shows its value every 100 ms, read every 20 ms.
        series = [(0.02 * i, 20000 * int(0.02 * i / 0.1 + 1e-9)) for i in range(120)]
        self.assertAlmostEqual(stats.counter_power(series, 0.13, 2.21), 200000, delta=1)

    def test_iteration_time_needs_two_completions(self):
        self.assertIsNone(stats.iteration_s([1.0]))
        self.assertAlmostEqual(stats.iteration_s([1.0, 1.5, 3.0]), 1.0)


class Driver(unittest.TestCase):
    def test_structures_have_the_sizes_of_nvml(self):
        self.assertEqual(ctypes.sizeof(gpu_data.FieldValue), 40)
        self.assertEqual(ctypes.sizeof(gpu_data.Memory), 24)
        self.assertEqual(ctypes.sizeof(gpu_data.Utilization), 8)
        self.assertEqual(ctypes.sizeof(gpu_data.GpmMetric), 40)
        self.assertEqual(gpu_data.GpmMetricsGet.metrics.offset, 24)

    def test_a_field_value_is_read_by_its_type(self):
        value = gpu_data.FieldValue(value_type=1, bits=0xFFFFFFFF00000005)
        self.assertEqual(value.number(), 5)
        bits = ctypes.c_ulonglong.from_buffer(ctypes.c_double(2.5)).value
        self.assertEqual(gpu_data.FieldValue(value_type=0, bits=bits).number(), 2.5)
        self.assertIsNone(gpu_data.FieldValue(value_type=99).number())

    def test_a_machine_without_a_driver_gets_an_error(self):
        try:
            ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            with self.assertRaisesRegex(gpu_data.GpuGone, "no NVIDIA driver"):
                gpu_data.Nvml(0)
        else:
            self.skipTest("a driver is here")

    def test_folders_and_types_go_by_the_gpus_name(self):
        self.assertEqual(gpu_data.slug("NVIDIA H100 80GB HBM3"), "h100-80gb-hbm3")
        self.assertEqual(gpu_data.slug("Tesla T4"), "tesla-t4")
        self.assertEqual(gpu_data.catalogue_type("NVIDIA H200"), "H200")
        self.assertIsNone(gpu_data.catalogue_type("NVIDIA GeForce RTX 9090"))

    def test_types_are_those_of_the_catalogue(self):
        with open(os.path.join(ROOT, "data", "gpu_types.yaml"), encoding="utf-8") as f:
            catalogue = f.read()
        for gpu_type in gpu_data.TYPES.values():
            self.assertIn("name: %s," % gpu_type, catalogue)

    def test_the_counter_of_a_recording_counts_its_power(self):
        played = gpu_data.Recorded(RECORDING)
        played.start -= 1000  # 100 turns of 10 s at a mean of 180 W
        self.assertAlmostEqual(played.energy_mj() / 1000, 180e3, delta=100)

    def test_a_recording_that_is_not_marked_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump({"gpu": {}, "samples": [], "period_s": 1}, f)
            f.flush()
            with self.assertRaisesRegex(gpu_data.GpuGone, "\"test\" must be true"):
                gpu_data.Recorded(f.name)


class Shares(unittest.TestCase):
    def test_a_client_finds_its_own_daemon_with_its_share(self):
        env = mps.client_environment("/tmp/x", 30)
        self.assertEqual(env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "30")
        self.assertEqual(env["CUDA_MPS_PIPE_DIRECTORY"], "/tmp/x/pipe")
        self.assertEqual(env["CUDA_MPS_LOG_DIRECTORY"], "/tmp/x/log")

    def test_clocks_are_thinned_from_the_highest_to_the_lowest(self):
        self.assertEqual(clocks.thinned(list(range(210, 1981, 15)))[0], 1980)
        self.assertEqual(clocks.thinned(list(range(210, 1981, 15)))[-1], 210)
        self.assertEqual(len(clocks.thinned(list(range(210, 1981, 15)))), 6)
        self.assertEqual(clocks.thinned([300, 600]), [600, 300])
        self.assertEqual(clocks.thinned(None), [])


class Schedule(unittest.TestCase):
    def points(self, **how):
        return schedule.plan(schedule.NETWORKS, **how)

    def test_networks_are_those_of_table_iv(self):
        names = set()
        with open(os.path.join(ROOT, "data", "physics.yaml"), encoding="utf-8") as f:
            name = None
            for line in f:
                if "- name:" in line:
                    name = line.split(":")[1].strip()
                if "testbed: true" in line:
                    names.add(name)
        self.assertEqual(names, set(schedule.NETWORKS))

    def test_no_point_comes_twice(self):
        keys = [p.key() for p in self.points()]
        self.assertEqual(len(keys), len(set(keys)))

    def test_every_network_is_alone_before_any_is_shared(self):
        forms = [p.form for p in self.points()]
        first_share = next(i for i, p in enumerate(self.points()) if p.members[0][3] != 100)
        self.assertEqual(
            {p.members[0][0] for p in self.points()[:first_share]}, set(schedule.NETWORKS)
        )
        self.assertLess(forms.index("pair"), forms.index("equal3"))

    def test_pairs_cover_eight_networks_and_nine_splits(self):
        pairs = [p for p in self.points() if p.stage == "pairs"]
        self.assertEqual(len({m[0] for p in pairs for m in p.members}), 8)
        self.assertEqual({p.members[0][3] for p in pairs}, set(range(10, 100, 10)))
        for p in pairs:
            self.assertEqual(sum(m[3] for m in p.members), 100)
            self.assertNotEqual(p.members[0][4], p.members[1][4])

    def test_eight_minutes_reach_pairs_of_eight_networks_and_groups(self):
        manner, at, reached = windows.Manner(), sum(schedule.SENSOR_S.values()) + 60, []
        for p in self.points():
            at += schedule.seconds(p, manner)
            if at < 8 * 60:
                reached.append(p)
        self.assertGreaterEqual(
            len({m[0] for p in reached if p.form == "pair" for m in p.members}), 8
        )
        self.assertIn("equal4", [p.form for p in reached])

    def test_stages_interleave_from_the_middle_outward(self):
        split = [
            (p.stage, p.members[0][3])
            for p in self.points()
            if p.stage in ("pairs", "shares", "groups")
        ]
        order = [k for i, k in enumerate(split) if i == 0 or k != split[i - 1]]
        self.assertEqual(
            order[:5],
            [("pairs", 50), ("shares", 50), ("shares", 20), ("shares", 80), ("groups", 33)],
        )
        self.assertEqual(
            [k for k in order if k[0] == "pairs"][:3], [("pairs", 50), ("pairs", 20), ("pairs", 80)]
        )

    def test_green_contexts_split_for_one_job_only(self):
        points = self.points(mechanism="green")
        self.assertTrue(any(p.members[0][3] == 50 for p in points))
        for p in points:
            self.assertTrue(len(p.members) == 1 or all(m[3] == 100 for m in p.members), str(p))

    def test_without_partition_nothing_is_split(self):
        for p in self.points(mechanism="none"):
            self.assertTrue(all(m[3] == 100 for m in p.members), str(p))

    def test_single_precision_says_when_it_is_tf32(self):
        self.assertEqual(schedule.single_precision("vgg16", "cuda", (9, 0)), "tf32")
        self.assertEqual(schedule.single_precision("vgg16", "cuda", (7, 5)), "fp32")
        self.assertEqual(schedule.single_precision("gpt2", "cuda", (9, 0)), "fp32")

    def test_a_sequence_takes_a_turn_for_each_member(self):
        manner = windows.Manner()
        p = next(p for p in self.points() if p.form == "sequential2")
        self.assertAlmostEqual(
            schedule.seconds(p, manner), 2 * manner.seconds() + 2 * schedule.CHANGE_S
        )


def look(n, share=100):
    gpu_columns = {
        "windows": 3,
        "window_s": 2.4,
        "steady": 1,
        "power_mw": 123456.789,
        "sm_active": None,
    }
    members = [
        {
            "workload": "resnet50",
            "batch_size": 8,
            "precision": "fp16",
            "sms": 10 * (i + 1),
            "iterations": 100,
            "iteration_us": 1000.5,
            "cv_pct": 0.5,
        }
        for i in range(n)
    ]
    return gpu_columns, members


class Tables(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def member(self, share=100, slot=0):
        return ("resnet50", 8, "fp16", share, slot)

    def test_a_point_is_found_again(self):
        points = [
            schedule.Point("solo", "solo", [self.member()]),
            schedule.Point("clocks", "solo", [self.member()], 1005),
            schedule.Point("pairs", "pair", [self.member(30), self.member(70, 1)]),
            schedule.Point("groups", "equal3", [self.member(33, i) for i in range(3)]),
        ]
        folder = tables.Folder(self.dir.name)
        for p in points:
            self.assertNotIn(p.key(), folder.done("mps"))
            folder.add_point(p, "inference", "mps", [look(len(p.members))])
        for each in (folder, tables.Folder(self.dir.name)):
            self.assertEqual(each.done("mps"), {p.key() for p in points})

    def test_a_sequence_keeps_the_gpu_of_each_turn(self):
        folder = tables.Folder(self.dir.name)
        p = schedule.Point("groups", "sequential2", [self.member(100, 0), self.member(100, 1)])
        first, second = look(1), look(1)
        second[0]["power_mw"] = 200000.0
        folder.add_point(p, "inference", "mps", [first, second])
        self.assertEqual(
            [r["power_mw"] for r in folder.tables["groups"].rows], ["123456.789", "200000"]
        )
        self.assertEqual(folder.done("mps"), {p.key()})

    def test_a_group_cut_off_by_a_kill_is_dropped_whole(self):
        folder = tables.Folder(self.dir.name)
        points = [
            schedule.Point("groups", "equal%d" % n, [self.member(s, i) for i in range(n)])
            for n, s in ((3, 33), (4, 25))
        ]
        for p in points:
            folder.add_point(p, "inference", "mps", [look(len(p.members))])
        with open(folder.tables["groups"].path, "rb+") as f:
            f.truncate(len(f.read()) - 10)
        again = tables.Folder(self.dir.name)
        self.assertEqual(again.done("mps"), {points[0].key()})
        with open(folder.tables["groups"].path, encoding="utf-8") as f:
            self.assertEqual(len(f.readlines()), 4)

    def test_a_point_of_another_mechanism_is_another_point(self):
        folder = tables.Folder(self.dir.name)
        folder.add_point(
            schedule.Point("solo", "solo", [self.member()]), "inference", "mps", [look(1)]
        )
        self.assertEqual(folder.done("green"), set())

    def test_missing_is_empty_and_never_0(self):
        folder = tables.Folder(self.dir.name)
        folder.add_point(
            schedule.Point("solo", "solo", [self.member()]), "inference", "mps", [look(1)]
        )
        self.assertEqual(folder.tables["solo"].rows[0]["sm_active"], "")
        self.assertEqual(folder.tables["solo"].rows[0]["temperature_c"], "")

    def test_a_row_cut_off_by_a_kill_is_dropped_and_measured_again(self):
        folder = tables.Folder(self.dir.name)
        p = schedule.Point("solo", "solo", [self.member()])
        folder.add_point(p, "inference", "mps", [look(1)])
        whole = open(folder.tables["solo"].path, encoding="utf-8").read()
        with open(folder.tables["solo"].path, "a", encoding="utf-8") as f:
            f.write("vgg19,8,fp16,100,132,12")
        again = tables.Folder(self.dir.name)
        self.assertEqual(again.done("mps"), {p.key()})
        self.assertEqual(open(folder.tables["solo"].path, encoding="utf-8").read(), whole)

    def test_a_table_of_another_version_is_refused(self):
        with open(os.path.join(self.dir.name, "solo.csv"), "w", encoding="utf-8") as f:
            f.write("workload,time\nresnet50,1\n")
        with self.assertRaisesRegex(tables.Broken, "solo.csv: the columns"):
            tables.Folder(self.dir.name)

    def test_a_failure_is_kept_until_the_point_is_measured(self):
        folder = tables.Folder(self.dir.name)
        points = [schedule.Point("solo", "solo", [self.member(s)]) for s in (100, 50)]
        for p in points + points[:1]:
            folder.failed(p, "out of memory")
        self.assertEqual(
            [f["point"] for f in folder.about["failures"]], [str(points[1]), str(points[0])]
        )
        folder.save_about()
        again = tables.Folder(self.dir.name)
        again.succeeded(points[0])
        self.assertEqual([f["point"] for f in again.about["failures"]], [str(points[1])])

    def test_the_readme_says_what_is_a_test_and_what_failed(self):
        folder = tables.Folder(self.dir.name)
        folder.about.update(
            {
                "test": True,
                "started": "a",
                "ended": "b",
                "gpu": {"name": "X", "sm_count": 1, "l2_kib": None},
                "software": {"torch": "2"},
                "sharing": {"mechanism": "green", "why": "mps: no daemon"},
                "failures": [{"point": "solo vgg19", "why": "out of memory"}],
            }
        )
        text = readme.text(folder)
        for part in (
            "Not a measurement",
            "mps: no daemon",
            "solo vgg19: out of memory",
            "green contexts",
        ):
            self.assertIn(part, text)


class Sensors(unittest.TestCase):
    def reading(self, i, watts):
        t = 0.02 * i
        return {
            "t": t,
            "power_mw": 1000 * watts,
            "power_instant_mw": None,
            "power_average_mw": None,
            "energy_mj": int(1000 * watts * 0.1 * int(t / 0.1 + 1e-9)),
            "sm_clock_mhz": 1410,
            "memory_clock_mhz": None,
            "temperature_c": 50,
            "throttle": 0x44 if i > 200 else 4 if i > 150 else 0,
            "gpu_util": 1.0,
        }

    def test_counter_and_integral_of_an_even_load_agree(self):
        rows = [self.reading(i, 300) for i in range(300)]
        self.assertAlmostEqual(sensor.energy_error_pct(rows), 0, places=6)

    def test_the_instant_reading_is_preferred(self):
        rows = [dict(self.reading(i, 300), power_instant_mw=310000) for i in range(10)]
        self.assertEqual(sampler.power_column(rows)[0][1], 310000)

    def test_gpu_columns_tell_a_slowdown_but_not_the_power_cap(self):
        rows = [self.reading(i, 300) for i in range(300)]
        steady = sampler.gpu_columns(rows, 0.5, 2.5)
        self.assertAlmostEqual(steady["power_mw"], 300000, delta=1)
        self.assertAlmostEqual(steady["power_integral_mw"], 300000, delta=1)
        self.assertEqual((steady["throttle"], steady["slowed_down"]), ("0", False))
        self.assertIsNone(steady["memory_clock_mhz"])
        capped = sampler.gpu_columns(rows, 2.5, 3.5)
        self.assertEqual((capped["throttle"], capped["slowed_down"]), ("4", False))
        hot = sampler.gpu_columns(rows, 3.5, 4.5)
        self.assertEqual((hot["throttle"], hot["slowed_down"]), ("44", True))


class Answers(unittest.TestCase):
    def test_what_is_no_answer_is_a_failure_of_the_worker(self):
        for line in ("Downloading...\n", "3\n", "{\n"):
            with self.assertRaisesRegex(lanes.WorkerFailed, "no JSON object"):
                lanes.answer_of(line)
        with self.assertRaises(lanes.OutOfMemory):
            lanes.answer_of('{"error": "RuntimeError: CUDA out of memory"}')

    def test_a_client_does_not_inherit_which_gpus_its_owner_sees(self):
        with unittest.mock.patch.dict(
            os.environ, {"CUDA_VISIBLE_DEVICES": "3", "CUDA_MPS_PIPE_DIRECTORY": "/x"}
        ):
            env = lanes.clean_environment(mps.client_environment("/tmp/x", 30))
            self.assertNotIn("CUDA_VISIBLE_DEVICES", env)
            self.assertEqual(env["CUDA_MPS_PIPE_DIRECTORY"], "/tmp/x/pipe")
            self.assertEqual(
                lanes.clean_environment({"CUDA_VISIBLE_DEVICES": "GPU-1"})["CUDA_VISIBLE_DEVICES"],
                "GPU-1",
            )


NETWORKS_CODE = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import networks, torch
for name in ("mobilenet", "mobilenetv2", "resnet18", "densenet121"):
    model, x = networks.build(name, 1, "fp32", "cpu", small=True)
    def look(module, _inputs, y):
        assert 1e-3 < float(y.std()) < 1e3, "%s: %s: %g" % (name, module, y.std())
    for m in model.modules():
        if isinstance(m, torch.nn.Conv2d):
            m.register_forward_hook(look)
    with torch.inference_mode():
        assert bool(torch.isfinite(model(x)).all())
"""


class Networks(unittest.TestCase):
    def test_activations_stay_within_half_precision(self):
        find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
        python = next(
            (
                p
                for p in (sys.executable, "/usr/bin/python3")
                if os.path.exists(p) and subprocess.run([p, "-c", find], timeout=60).returncode == 0
            ),
            None,
        )
        if python is None:
            self.skipTest("no PyTorch")
        done = subprocess.run(
            [python, "-c", NETWORKS_CODE, os.path.join(ROOT, "bench", "gpu")],
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stderr[-500:])


class Rings(unittest.TestCase):
    def test_completions_cross_between_processes_in_order(self):
        with tempfile.NamedTemporaryFile() as f:
            reader = ring.Ring(f.name, create=True)
            writer = ring.Ring(f.name)
            reader.start()
            self.assertTrue(writer.running())
            for i in range(ring.SLOTS + 10):
                writer.stamp(float(i))
            self.assertEqual(reader.count(), ring.SLOTS + 10)
            self.assertEqual(
                reader.between(ring.SLOTS, ring.SLOTS + 2),
                [float(ring.SLOTS + i) for i in range(3)],
            )
            self.assertLess(len(reader.between(0, 1e9)), ring.SLOTS)
            reader.stop()
            self.assertFalse(writer.running())
            for each in (reader, writer):
                each.close()


class LateGpu:
    """A clock that jumps when it is slept by; completions of a script come meanwhile."""

    def __init__(self, ring_of_lane, completions):
        self.t, self.ring, self.completions = 100.0, ring_of_lane, completions

    def now(self):
        return self.t

    def sleep(self, seconds):
        self.t += seconds
        for _ in range(2):
            if self.completions:
                self.ring.stamp(self.completions.pop(0))


class Windows(unittest.TestCase):
    def setUp(self):
        file = tempfile.NamedTemporaryFile()
        self.addCleanup(file.close)
        self.lane = types.SimpleNamespace(ring=ring.Ring(file.name, create=True))
        self.addCleanup(self.lane.ring.close)
        self.lane.ring.start()
        self.manner = windows.Manner(window_s=1.0, completions=2, patience_s=5)

    def test_a_completion_of_before_that_is_counted_later_is_none_of_the_window(self):
        late = LateGpu(self.lane.ring, [99.999, 100.5, 100.9, 101.01])
        start, end = windows.one_window(late, [self.lane], self.manner)
        self.assertEqual(self.lane.ring.between(start, end), [100.5, 100.9, 101.01])
        self.assertIsNotNone(stats.iteration_s(self.lane.ring.between(start, end)))

    def test_a_window_without_its_completions_fails(self):
        with self.assertRaisesRegex(lanes.WorkerFailed, "no 2 iterations in a window of 5 s"):
            windows.one_window(LateGpu(self.lane.ring, [99.999, 100.5]), [self.lane], self.manner)


FAKE_CONTROL = """#!/bin/sh
# Stands in for nvidia-cuda-mps-control: writes down its commands.
[ "$1" = -d ] && { echo "start $CUDA_MPS_PIPE_DIRECTORY" >>"$FAKE_LOG"; exit "${FAKE_EXIT:-0}"; }
cat >>"$FAKE_LOG"
"""
KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import guard, mps
g = guard.Guard()
directory, why = mps.start_daemon(None, g)
print(directory, flush=True)
if sys.argv[2] == "drop":
    mps.quit_daemon(directory)
    g.drop("mps")
os.kill(os.getpid(), signal.SIGKILL)
"""


class Daemon(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        control = os.path.join(self.dir.name, mps.CONTROL)
        with open(control, "w", encoding="utf-8") as f:
            f.write(FAKE_CONTROL)
        os.chmod(control, 0o755)
        self.log = os.path.join(self.dir.name, "log")
        self.env = {
            **os.environ,
            "PATH": self.dir.name + ":" + os.environ["PATH"],
            "FAKE_LOG": self.log,
        }

    def commands(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read().split("\n")

    def killed(self, drop):
        """@return the daemon's directory, after the measuring process died by SIGKILL"""
        done = subprocess.run(
            [sys.executable, "-c", KILLED, os.path.join(ROOT, "bench", "gpu"), drop],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, -9, done.stderr)
        return done.stdout.strip()

    def test_a_kill_leaves_no_daemon_behind(self):
        directory = self.killed("")
        end = time.monotonic() + 30
        while os.path.exists(directory) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertFalse(os.path.exists(directory))
        self.assertEqual(self.commands(), ["start %s/pipe" % directory, "quit -t 5", ""])

    def test_a_daemon_that_was_stopped_is_not_stopped_again(self):
        directory = self.killed("drop")
        time.sleep(0.5)
        self.assertEqual(self.commands(), ["start %s/pipe" % directory, "quit -t 5", ""])

    def test_the_exit_of_a_daemon_that_does_not_start_is_reported(self):
        with unittest.mock.patch.dict(os.environ, {**self.env, "FAKE_EXIT": "1"}):
            held = guard.Guard()
            self.addCleanup(held.close)
            directory, why = mps.start_daemon(None, held)
        self.assertIsNone(directory)
        self.assertIn("exit 1", why)


class Tap(unittest.TestResult):
    def _line(self, ok, test, note=""):
        name = test.id().split(".", 1)[-1].replace("test_", "").replace("_", " ")
        print("%s %d - %s%s" % ("ok" if ok else "not ok", self.testsRun, name, note), flush=True)

    def addSuccess(self, test):
        self._line(True, test)

    def addSkip(self, test, reason):
        self._line(True, test, " # SKIP " + reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._line(False, test)
        print("\n".join("# " + line for line in self.failures[-1][1].splitlines()))

    def addError(self, test, err):
        super().addError(test, err)
        self._line(False, test)
        print("\n".join("# " + line for line in self.errors[-1][1].splitlines()))


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print("1..%d" % suite.countTestCases())
    result = Tap()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
