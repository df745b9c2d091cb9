/* What is free of a measured GPU's type, and of the workloads that are its own. */
#define GPU_TYPE                                                                              \
	"bandwidth_fraction:.3:.93 saturating_share:.05:1 launch_us:.2:20 host_factor:.1:10 " \
	"context_w:1:250 clocked_w:.1:250 switch_w:10:1500 stall:.02:1.2 dram_w:2:400 "       \
                                                                                              \
	"volt_bend:.7:3 limiter_ms:1:1000 interference:.1:30"
/* Without locked clocks only the top of the voltage curve is seen. */
#define GPU_VOLTAGE "volt_min:.5:.95 volt_knee:.2:.85"
#define GPU_RATES   "rate_fp32:20:1000 rate_fp16:100:20000"
#define GPU_TF32    "rate_tf32:50:10000"
#define GPU_WORKLOAD                                             \
	"efficiency:.005:3 host_us:50:80000 parallel_sms:1:600 " \
	"parallel_growth:.02:1 traffic_mib_per_item:.5:4000 activity:.2:4"
/* Of a workload whose GPU's part was fitted with CUDA graphs. */
#define GPU_HOST "host_us:50:80000"
