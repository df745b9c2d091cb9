/* What calibrate.c derives from what it fitted. Factors are ratios of data-sheet
 * figures (GPU types) or of published layer counts and activations (workloads). */
{ "gpu", "V100-PCIe", "V100-SXM2-32", "rate_fp16:1" },
	/* GDDR6: by the power limit less idle power, 60 W of 275 W. */
	{ "gpu", "T4", "A40", "context_w:.218" },
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
	{ "workload", "gpt2", "bert-large",
	  "efficiency:.9 host_us:.67 serial_us:.67 serial_us_per_item:1 parallel_sms:2 "
	  "parallel_growth:1 traffic_mib_per_item:1.6 working_set_mib:3" },
