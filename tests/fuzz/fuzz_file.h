/*
 * fuzz_file.h - a fuzzer's bytes as a file that a loader can open by name.
 */
#ifndef HES_FUZZ_FILE_H
#define HES_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

/** @return the path of a file with these bytes whose name ends in @suffix; valid until the next
 * call */
const char *fuzz_file(const uint8_t *data, size_t len, const char *suffix);

/** The entry point that libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#endif
