/*
 * dcgm_abi.h - the part of DCGM's binary interface that heshare uses: return codes, field numbers
 * and structures, as NVIDIA documents them.
 *
 * src/gpu calls it; the lab's stand-in implements it. Handles and groups are integers as wide as a
 * pointer. Versions contain the size of their structure.
 */
#ifndef HES_GPU_DCGM_ABI_H
#define HES_GPU_DCGM_ABI_H

#include <stdint.h>

enum dcgm_code {
	DCGM_OK = 0,
	DCGM_BAD_PARAMETER = -1,
	DCGM_NOT_SUPPORTED = -6,
	DCGM_UNINITIALIZED = -10,
	DCGM_VERSION_MISMATCH = -12,
	DCGM_NO_DATA = -14,
	DCGM_CONNECTION_NOT_VALID = -21,
	DCGM_MAX_LIMIT = -24,
	DCGM_REQUIRES_ROOT = -29,
	DCGM_PROFILING_NOT_SUPPORTED = -36,
};

enum { DCGM_MODE_AUTO = 1, DCGM_MODE_MANUAL = 2 };
enum { DCGM_GROUP_EMPTY = 1 };
enum { DCGM_ENTITY_GPU = 1 };
enum { DCGM_LIVE_DATA = 1 };

enum dcgm_field {
	DCGM_FIELD_UUID = 54,
	DCGM_FIELD_GRAPHICS = 1001, /* all but the last two 0 to 1 */
	DCGM_FIELD_SM = 1002,
	DCGM_FIELD_OCCUPANCY = 1003,
	DCGM_FIELD_TENSOR = 1004,
	DCGM_FIELD_DRAM = 1005,
	DCGM_FIELD_FP32 = 1007,
	DCGM_FIELD_PCIE_TX = 1009, /* bytes a second */
	DCGM_FIELD_PCIE_RX = 1010,
};

/* A blank value is this, or a little more: the difference is the reason. */
#define DCGM_BLANK_DOUBLE  140737488355328.0
#define DCGM_BLANK_INTEGER 0x7ffffffffffffff0ll

#define DCGM_MAX_GPUS               32
#define DCGM_VERSION(type, version) ((unsigned)sizeof(type) | (version) << 24)

union dcgm_content {
	int64_t i;
	double d;
	char text[256];
	char blob[4096];
};

/* A value of a watch. */
struct dcgm_value {
	unsigned int version;
	unsigned short field, type; /* 'd', 'i', 's' */
	int code;
	int64_t time_us; /* since 1970 */
	union dcgm_content value;
};

/* The answer to a query about an entity. */
struct dcgm_entity_value {
	unsigned int version;
	unsigned int entity_group, entity;
	unsigned short field, type;
	int code;
	unsigned int unused;
	int64_t time_us;
	union dcgm_content value;
};

struct dcgm_entity {
	unsigned int group, id;
};

struct dcgm_connect {
	unsigned int version, persist, timeout_ms, is_unix_socket;
};
#define DCGM_CONNECT_VERSION DCGM_VERSION(struct dcgm_connect, 2u)

/** @return 0 to go on */
typedef int dcgm_deliver_fn(unsigned entity_group, unsigned entity, struct dcgm_value *values,
			    int n, void *ctx);

#endif
