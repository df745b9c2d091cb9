/* What calibrate.c derives from what it fitted. Factors are ratios of data-sheet
 * figures (GPU types) or of published layer counts and activations (workloads). */
{ "gpu", "V100-PCIe", "V100-SXM2-32", "rate_fp16:1" },
	{ "gpu", "Quadro-RTX-8000", "T4", "rate_fp16:1" },
	/* The same generation and memory; static power by the power limit less idle power, 60 W of
	   240 W. */
	{ "gpu", "T4", "Quadro-RTX-8000",
	  "context_w:.25 stall:1 volt_min:1 volt_knee:1 volt_bend:1" },
	/* The same chip at the same clock. */
	{ "gpu", "A100-SXM-80", "A100-PCIe-40", "clocked_w:1 switch_w:1 stall:1" },
	{ "gpu", "A100-PCIe-40", "A100-SXM-80", "interference:1 interference_spread:1" },
	{ "gpu", "A100-PCIe-80", "A100-PCIe-40", "switch_w:1 stall:1" },
	{ "gpu", "A100-PCIe-80", "A100-SXM-80", "interference:1 interference_spread:1" },
	{ "workload", "resnet101", "resnet152",
	  "efficiency:1 host_us:.67 serial_us:.67 serial_us_per_item:1 parallel_sms:1 "
	  "parallel_growth:1 traffic_mib_per_item:.71" },
	{ "halfway", "resnet101", "resnet50",
	  "efficiency:1 host_us:1.97 serial_us:1.97 serial_us_per_item:1 parallel_sms:1 "
	  "parallel_growth:1 traffic_mib_per_item:1.51" },
	{ "workload", "densenet169", "densenet201",
	  "efficiency:1 host_us:.84 serial_us:.84 serial_us_per_item:1 parallel_sms:1 "
	  "parallel_growth:1 traffic_mib_per_item:.77" },
	{ "halfway", "densenet169", "densenet121",
	  "efficiency:1 host_us:1.39 serial_us:1.39 serial_us_per_item:1 parallel_sms:1 "
	  "parallel_growth:1 traffic_mib_per_item:1.22" },
	{ "workload", "resnet34", "resnet50",
	  "efficiency:1.6 host_us:.69 serial_us:.69 serial_us_per_item:1 parallel_sms:1 "
	  "parallel_growth:1 traffic_mib_per_item:.36" },
	{ "workload", "resnet18", "resnet50",
	  "efficiency:1.6 host_us:.39 serial_us:.39 serial_us_per_item:1 parallel_sms:1 "
	  "parallel_growth:1 traffic_mib_per_item:.24" },
	{ "workload", "densenet161", "densenet201",
	  "efficiency:1.4 host_us:.8 serial_us:.8 serial_us_per_item:1 parallel_sms:1.3 "
	  "parallel_growth:1 traffic_mib_per_item:1.3" },
	{ "workload", "mobilenet", "mobilenetv2",
	  "efficiency:1.6 host_us:.54 serial_us:.54 serial_us_per_item:1 parallel_sms:1 "
	  "parallel_growth:1 traffic_mib_per_item:.7" },
	{ "workload", "transformer", "bert-large",
	  "efficiency:.8 host_us:.7 serial_us:.7 serial_us_per_item:.3 parallel_sms:.6 "
	  "parallel_growth:1 traffic_mib_per_item:.3 working_set_mib:.5" },
	/* Efficiency as an H100 measured both in FP16: .26 to .68. */
	{ "workload", "gpt2", "bert-large",
	  "efficiency:.39 host_us:.67 serial_us:.67 serial_us_per_item:1 parallel_sms:2 "
	  "parallel_growth:1 traffic_mib_per_item:1.6 working_set_mib:3" },
