/*
 * call_faults.h - let the n-th allocation or the n-th access to a file fail, for tests.
 *
 * Allocations are those of heshare and SQLite, and of jansson where a test says so, counted
 * together. Accesses are those of heshare's readers and of SQLite. The linker puts the functions of
 * call_faults.c in the place of the C library's and zlib's: a test needs the arguments
 * `fault_link_args` of tests/meson.build. One thread.
 */
#ifndef HES_TEST_CALL_FAULTS_H
#define HES_TEST_CALL_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	FAULT_MEMORY, /* an allocation gives nothing */
	FAULT_IO,     /* an access to a file fails with EIO, ENOSPC or SQLite's code for it */
};

/** Before SQLite and jansson are used. */
void faults_install(void);

/** From here on the @n-th call of that kind fails, from 1; with @lasting all after it, too. */
void faults_arm(enum fault_kind kind, uint32_t n, bool lasting);
/** From here on nothing fails. @return whether something has failed since faults_arm() */
bool faults_disarm(void);

/**
 * Whether allocations of jansson fail, too. Only what writes JSON can be tried so: when memory ends
 * within a text, the parser of jansson 2.14 itself reads from a null pointer.
 */
void faults_in_jansson(bool on);

/** Faults since the start of the program: times that faults_disarm() returned true. */
uint32_t faults_tried(void);

#endif
