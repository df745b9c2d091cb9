/*
 * log_formats.c - the table of known logs; formats.c recognises them, log_reader.c reads them. To
 * add one: a row. Its items are those of --columns.
 */
#include "heshare/trace.h"

#define LAYOUT(...)               \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static const struct hes_trace_format formats[] = {
	/* Hu et al., SC 2021: as published, and reduced to arrival, run time and GPUs. */
	{ .name = "helios",
	  .layouts = { LAYOUT("arrival=arrival_s", "runtime=service_s", "gpus=gpus"),
		       LAYOUT("id=job_id", "arrival=submit_time", "runtime=duration",
			      "gpus=gpu_num") },
	  .summary = "SenseTime Helios: as published, or in seconds from the first submission" },
	/* Jeon et al., ATC 2019, in the reduced form of scheduler papers. */
	{ .name = "philly",
	  .layouts = { LAYOUT("arrival=timestamp", "runtime=duration", "gpus=num_gpus") },
	  .summary = "Microsoft Philly: a table of dates and run times" },
	/* Weng et al., ATC 2023 and NSDI 2022. */
	{ .name = "alibaba",
	  .layouts = { LAYOUT("instances=num_gpu", "gpus=gpu_milli:milli", "arrival=creation_time",
			      "start=scheduled_time", "end=deletion_time"),
		       LAYOUT("gpus=gpu_request", "arrival=creation_time", "start=scheduled_time",
			      "end=deletion_time"),
		       LAYOUT("instances=inst_num", "gpus=plan_gpu:percent", "arrival=start_time",
			      "start=start_time", "end=end_time") },
	  .summary =
		  "Alibaba: pods of 2023 (openb), instances, tasks of 2020 (PAI) with a header" },
	/* Li et al., SoCC 2022. */
	{ .name = "miso",
	  .layouts = { LAYOUT("workload=model_trainBATCH", "runtime=runtime_s") },
	  .summary = "MISO's 100 jobs: model, batch size and run time, no arrivals" },
	{ .name = "sacct",
	  .layouts = { LAYOUT("id=JobID", "arrival=Submit", "runtime=Elapsed", "gpus=AllocTRES"),
		       LAYOUT("id=JobID", "arrival=Submit", "runtime=ElapsedRaw", "gpus=AllocTRES"),
		       LAYOUT("id=JobID", "arrival=Submit", "start=Start", "end=End",
			      "gpus=AllocTRES"),
		       LAYOUT("id=JobID", "arrival=Submit", "runtime=Elapsed", "gpus=AllocGRES") },
	  .summary = "Slurm: sacct --parsable2 --format=JobID,Submit,Elapsed,AllocTRES" },
	/* Narayanan et al., OSDI 2020. */
	{ .name = "gavel",
	  .layouts = { LAYOUT("workload=1", "iterations=6", "gpus=7", "arrival=10"),
		       LAYOUT("workload=1", "iterations=6", "gpus=7", "arrival=11") },
	  .first = "(batch size ",
	  .summary = "Gavel: no header, model, batch size and steps; no run times" },
};

const struct hes_trace_format *const hes_trace_formats[] = {
	&formats[0], &formats[1], &formats[2], &formats[3], &formats[4], &formats[5], NULL,
};
