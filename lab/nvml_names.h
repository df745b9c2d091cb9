/*
 * nvml_names.h - the functions that libnvidia-ml's stand-in exports, but for nvmlErrorString.
 *
 * nvml_calls.c exports them, fault_spec.c knows them by name.
 */
#ifndef VGPU_NVML_NAMES_H
#define VGPU_NVML_NAMES_H

/* clang-format off */
#define NVML_FUNCTIONS(F) \
	F(nvmlDeviceGetApplicationsClock) F(nvmlDeviceGetArchitecture) \
	F(nvmlDeviceGetBAR1MemoryInfo) F(nvmlDeviceGetBrand) F(nvmlDeviceGetClock) \
	F(nvmlDeviceGetClockInfo) F(nvmlDeviceGetComputeMode) \
	F(nvmlDeviceGetComputeRunningProcesses) F(nvmlDeviceGetComputeRunningProcesses_v2) \
	F(nvmlDeviceGetComputeRunningProcesses_v3) F(nvmlDeviceGetCount) \
	F(nvmlDeviceGetCount_v2) F(nvmlDeviceGetCpuAffinity) \
	F(nvmlDeviceGetCudaComputeCapability) F(nvmlDeviceGetCurrPcieLinkGeneration) \
	F(nvmlDeviceGetCurrPcieLinkWidth) F(nvmlDeviceGetCurrentClocksEventReasons) \
	F(nvmlDeviceGetCurrentClocksThrottleReasons) F(nvmlDeviceGetDecoderUtilization) \
	F(nvmlDeviceGetDefaultApplicationsClock) F(nvmlDeviceGetEncoderUtilization) \
	F(nvmlDeviceGetEnforcedPowerLimit) F(nvmlDeviceGetFanSpeed) F(nvmlDeviceGetFieldValues) \
	F(nvmlDeviceGetGraphicsRunningProcesses) F(nvmlDeviceGetGraphicsRunningProcesses_v2) \
	F(nvmlDeviceGetGraphicsRunningProcesses_v3) F(nvmlDeviceGetHandleByIndex) \
	F(nvmlDeviceGetHandleByIndex_v2) F(nvmlDeviceGetHandleByPciBusId_v2) \
	F(nvmlDeviceGetHandleByUUID) F(nvmlDeviceGetIndex) \
	F(nvmlDeviceGetMPSComputeRunningProcesses) \
	F(nvmlDeviceGetMPSComputeRunningProcesses_v2) \
	F(nvmlDeviceGetMPSComputeRunningProcesses_v3) F(nvmlDeviceGetMaxClockInfo) \
	F(nvmlDeviceGetMaxMigDeviceCount) F(nvmlDeviceGetMaxPcieLinkGeneration) \
	F(nvmlDeviceGetMaxPcieLinkWidth) F(nvmlDeviceGetMemoryBusWidth) \
	F(nvmlDeviceGetMemoryInfo) F(nvmlDeviceGetMemoryInfo_v2) \
	F(nvmlDeviceGetMigDeviceHandleByIndex) F(nvmlDeviceGetMigMode) \
	F(nvmlDeviceGetMinorNumber) F(nvmlDeviceGetName) F(nvmlDeviceGetNumFans) \
	F(nvmlDeviceGetNumGpuCores) F(nvmlDeviceGetNvLinkRemotePciInfo_v2) \
	F(nvmlDeviceGetNvLinkState) F(nvmlDeviceGetPciInfo) F(nvmlDeviceGetPciInfo_v2) \
	F(nvmlDeviceGetPciInfo_v3) F(nvmlDeviceGetPcieThroughput) \
	F(nvmlDeviceGetPerformanceState) F(nvmlDeviceGetPersistenceMode) \
	F(nvmlDeviceGetPowerManagementDefaultLimit) F(nvmlDeviceGetPowerManagementLimit) \
	F(nvmlDeviceGetPowerManagementLimitConstraints) F(nvmlDeviceGetPowerManagementMode) \
	F(nvmlDeviceGetPowerState) F(nvmlDeviceGetPowerUsage) \
	F(nvmlDeviceGetProcessUtilization) F(nvmlDeviceGetSamples) F(nvmlDeviceGetSerial) \
	F(nvmlDeviceGetSupportedClocksThrottleReasons) F(nvmlDeviceGetSupportedEventTypes) \
	F(nvmlDeviceGetSupportedGraphicsClocks) F(nvmlDeviceGetSupportedMemoryClocks) \
	F(nvmlDeviceGetTemperature) F(nvmlDeviceGetTemperatureThreshold) \
	F(nvmlDeviceGetTotalEnergyConsumption) F(nvmlDeviceGetUUID) \
	F(nvmlDeviceGetUtilizationRates) F(nvmlDeviceRegisterEvents) \
	F(nvmlDeviceResetApplicationsClocks) F(nvmlDeviceResetGpuLockedClocks) \
	F(nvmlDeviceSetApplicationsClocks) F(nvmlDeviceSetComputeMode) \
	F(nvmlDeviceSetGpuLockedClocks) F(nvmlDeviceSetMigMode) F(nvmlDeviceSetPersistenceMode) \
	F(nvmlDeviceSetPowerManagementLimit) F(nvmlEventSetCreate) F(nvmlEventSetFree) \
	F(nvmlEventSetWait) F(nvmlEventSetWait_v2) F(nvmlGpmMetricsGet) \
	F(nvmlGpmQueryDeviceSupport) F(nvmlGpmSampleAlloc) F(nvmlGpmSampleFree) \
	F(nvmlGpmSampleGet) F(nvmlInit) F(nvmlInitWithFlags) F(nvmlInit_v2) F(nvmlShutdown) \
	F(nvmlSystemGetCudaDriverVersion) F(nvmlSystemGetCudaDriverVersion_v2) \
	F(nvmlSystemGetDriverVersion) F(nvmlSystemGetNVMLVersion) F(nvmlSystemGetProcessName)
/* clang-format on */

#endif
