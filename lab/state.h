/*
 * state.h - the lab in shared memory: the GPUs as all processes see them.
 *
 * One file, mapped by the lab program, by the stand-ins for libnvidia-ml, libcuda and MPS, and by
 * vgpu-fault. It contains the physics, so that a stand-in parses no files. Virtual time is real
 * time since the lab began, times its speed. A GPU has its own lock; locking it advances the GPU to
 * the present (virtual_gpu.h).
 */
#ifndef VGPU_STATE_H
#define VGPU_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "heshare/fleet.h"
#include "model/params.h"

#define VGPU_ENV "HESHARE_LAB" /* names the state file; set by the lab for its command */

#define VGPU_MAX_GPUS      64
#define VGPU_MAX_CLIENTS   48   /* contexts of a GPU: MPS's limit on Volta and later */
#define VGPU_MAX_QUEUE     256  /* waiting launches of a context */
#define VGPU_ENDS          4096 /* launches whose end is kept */
#define VGPU_MAX_WORKLOADS 192
#define VGPU_MAX_TYPES     128
#define VGPU_ACCOUNTS      256 /* processes that left a GPU and whose GPU time is kept */
#define VGPU_SPIN \
	UINT32_MAX        /* instead of a workload: a launch of given microseconds at any clock */
#define VGPU_GRID_S  0.02 /* virtual time between two samples of a GPU */
#define VGPU_SAMPLES 128  /* samples that are kept */

enum vgpu_fault {
	VGPU_FAULT_SENSOR_GAP,    /* power, energy and clock cannot be read */
	VGPU_FAULT_NO_PERMISSION, /* no setting may be changed */
	VGPU_FAULT_GPU_LOST,      /* the GPU has fallen off the bus */
	VGPU_FAULT_LOCK_IGNORED,  /* a clock lock is accepted and has no effect */
	VGPU_FAULT_CRASH, /* the next launch fails; under MPS all clients of the server fail */
	VGPU_FAULT_HANG,  /* launches make no progress */
	VGPU_FAULT_NO_COUNTERS,   /* performance counters are for root: GPM and DCGM's own engine
				     refuse */
	VGPU_FAULT_DRIVER_THREAD, /* NVML starts a thread in processes that load it */
	VGPU_FAULT_STALL,         /* an MPS client that stands still holds up those of its server */
	VGPU_FAULT_COUNT
};

#define VGPU_CALL_NAME   64
#define VGPU_CALL_FAULTS 16

/** A fault of an NVML function on a GPU. */
struct vgpu_call_fault {
	char name[VGPU_CALL_NAME]; /* without _v2 or the like it is every version */
	int code;                  /* that the function returns */
	double until_s;
	uint64_t first, last; /* calls that fail, from 1 on */
	uint64_t calls;       /* since the fault was injected */
};

enum vgpu_reading {
	VGPU_READING_POWER,        /* W */
	VGPU_READING_ENERGY,       /* J */
	VGPU_READING_CLOCK,        /* MHz */
	VGPU_READING_MEMORY_CLOCK, /* MHz */
	VGPU_READING_MEMORY,       /* MiB in use */
	VGPU_READING_TEMPERATURE,  /* degrees Celsius */
	VGPU_READING_BUSY,         /* utilisation in percent */
	VGPU_READING_MEMORY_BUSY,
	VGPU_READING_GRAPHICS, /* from here on performance counters, in percent */
	VGPU_READING_SM,
	VGPU_READING_OCCUPANCY,
	VGPU_READING_TENSOR,
	VGPU_READING_DRAM,
	VGPU_READING_FP32,
	VGPU_READING_PCIE_IN, /* MiB/s */
	VGPU_READING_PCIE_OUT,
	VGPU_READING_COUNT
};

/** What a fault does to a reading. */
struct vgpu_reading_fault {
	enum {
		VGPU_READING_TRUE, /* nothing */
		VGPU_READING_SET,
		VGPU_READING_TIMES,
		VGPU_READING_PLUS,
		VGPU_READING_FROZEN, /* its first value since then */
		VGPU_READING_RESET   /* counted from that value */
	} how;
	double value;
	double until_s;
	double first;
	bool began; /* first is known */
};

/** A launch of iterations of a workload. */
struct vgpu_launch {
	uint32_t workload; /* index in the lab's physics */
	uint32_t batch;
	double left; /* iterations; microseconds of a spin */
};

/** A CUDA context on a GPU. */
struct vgpu_client {
	pid_t pid;             /* 0: free */
	pid_t server;          /* of MPS; 0: none, and the GPU is time-sliced */
	uint64_t started;      /* of the process, in clock ticks after boot: detects a reused pid */
	uint32_t sm_pct;       /* MPS share */
	int32_t error;         /* permanent CUresult; 0: none */
	uint64_t memory_limit; /* bytes; 0: none */
	uint64_t memory;       /* bytes allocated, with the context */
	uint64_t launched, completed; /* number of launches so far */
	uint32_t head;                /* of the queue */
	double rate; /* iterations a second of the first launch, at lab_gpu.now_s */
	double sm_util, dram_util;
	double part;  /* its part of the GPU's time now */
	double gpu_s; /* its integral */
	struct vgpu_launch queue[VGPU_MAX_QUEUE];
	double ended_s[VGPU_ENDS]; /* when launch k ended, at index k mod VGPU_ENDS */
};

/** Integrals since the lab began, at one moment. */
struct vgpu_sample {
	double time_s;
	double energy_j;
	double busy_s;           /* with a kernel running */
	double memory_s;         /* with memory being read or written */
	double sm_s;             /* part of the SMs with work */
	double occupancy_s;      /* active warps, of those that fit */
	double dram_s;           /* part of the memory bandwidth in use */
	double tensor_s, fp32_s; /* part of the tensor and FP32 pipes in use */
	double pcie_in_mib, pcie_out_mib;
};

/** GPU time of a process that has left. */
struct vgpu_account {
	pid_t pid; /* 0: free */
	uint64_t started;
	double gpu_s;
};

struct lab_gpu {
	pthread_mutex_t lock;   /* robust; guards all below */
	pid_t owner;            /* 0: it is not locked */
	uint64_t owner_started; /* as vgpu_process_started() */
	uint32_t changed;       /* a futex: counts changes that may end a wait */
	struct hes_gpu_type type;
	char uuid[48];
	char node[HES_NAME_MAX];
	/* Settings. */
	uint32_t lock_min_mhz, lock_max_mhz; /* 0: clocks are not locked */
	uint32_t power_limit_mw;
	uint32_t compute_mode;
	bool mig, mig_pending;
	bool persistence;
	/* Faults: the virtual time at which each ends. */
	double fault_until_s[VGPU_FAULT_COUNT];
	uint32_t n_call_faults; /* NVML reads it without the lock */
	struct vgpu_call_fault call_faults[VGPU_CALL_FAULTS];
	struct vgpu_reading_fault reading_faults[VGPU_READING_COUNT];
	double interference;         /* slowdown by co-runners against the model's, while */
	double interference_until_s; /* this is ahead */
	uint32_t cleared;            /* counts clears of all faults */
	uint64_t xid;                /* last error event, 0: none yet */
	uint64_t xid_count;
	/* The present. */
	double now_s; /* virtual time up to which the GPU has advanced */
	bool stale;   /* rates and power must be computed again */
	bool held_up; /* clients do nothing because one of them stands still */
	double power_w;
	double clock_mhz;
	double busy, memory, sm, occupancy, dram, tensor, fp32; /* parts in use now */
	double pcie_in_mib_s, pcie_out_mib_s;
	bool throttled;
	double temperature_c;
	struct vgpu_sample total;
	struct vgpu_sample
		past[VGPU_SAMPLES]; /* on the grid: sample k at index k mod VGPU_SAMPLES */
	uint32_t joins;             /* number of contexts ever opened */
	uint32_t slots;             /* all contexts have an index below this */
	double held_s;              /* time with a busy context: the sum over its processes */
	uint32_t left;              /* number of accounts ever written; the oldest is replaced */
	struct vgpu_account accounts[VGPU_ACCOUNTS];
	struct vgpu_client clients[VGPU_MAX_CLIENTS];
};

struct vgpu_lab {
	uint64_t magic;
	uint64_t bytes;
	pid_t keeper;      /* the lab program: reaps contexts of dead processes */
	int64_t origin_ns; /* CLOCK_MONOTONIC when the lab began */
	int64_t wall_ns;   /* CLOCK_REALTIME then */
	double speed;
	bool host_engine; /* DCGM's host engine runs */
	uint32_t n_gpus, n_types, n_workloads;
	uint32_t spin_workload; /* a spin draws the power of this one */
	struct hes_nature nature;
	struct hes_gpu_physics types[VGPU_MAX_TYPES];
	struct hes_workload workloads[VGPU_MAX_WORKLOADS];
	struct lab_gpu gpus[VGPU_MAX_GPUS];
};

/** Make the state file and map it. @return 0; -E2BIG, -ENOENT a type without physics, other -errno
 */
int vgpu_create(const char *path, const struct hes_fleet *f, const struct hes_model *m,
		double speed, struct vgpu_lab **out, struct hes_err *err);
/** Give the GPUs UUIDs of the machine @machine, the same in every lab: by type and number among
 * those of the type. Without it two labs have different ones. */
void vgpu_name_machine(struct vgpu_lab *lab, uint64_t machine);
/** Map an existing state file. @return 0; -errno */
int vgpu_attach(const char *path, struct vgpu_lab **out, struct hes_err *err);
/** The lab of the environment, mapped once per process; NULL: no lab. Any thread. */
struct vgpu_lab *vgpu_here(void);
void vgpu_detach(struct vgpu_lab *lab);

/** Virtual seconds since the lab began. */
double vgpu_now(const struct vgpu_lab *lab);
/** Virtual microseconds of the wall clock at a virtual time. */
uint64_t vgpu_wall_us(const struct vgpu_lab *lab, double now_s);

/** Lock a GPU and advance it to the present. Works also after an owner of the lock died, and while
 * it is stopped (SIGSTOP). */
void vgpu_lock(struct vgpu_lab *lab, struct lab_gpu *b);
void vgpu_unlock(struct lab_gpu *b);
/** Wake the processes that wait for the GPU; it is locked. */
void vgpu_wake(struct lab_gpu *b);
/** Sleep until lab_gpu.changed is no longer @seen, at most until virtual @until_s; the GPU is not
 * locked. */
void vgpu_sleep(const struct vgpu_lab *lab, struct lab_gpu *b, uint32_t seen, double until_s);

/** Start time of process @pid, in clock ticks after boot; 0: it has ended, or is a zombie. */
uint64_t vgpu_process_started(pid_t pid);
/** Whether it is stopped, or in a frozen cgroup. */
bool vgpu_process_stands_still(pid_t pid);

#endif
