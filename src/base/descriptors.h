/*
 * descriptors.h - close the descriptors that a new process has inherited.
 */
#ifndef HES_BASE_DESCRIPTORS_H
#define HES_BASE_DESCRIPTORS_H

/**
 * Close every descriptor but the three standard ones and @keep, which may be one of those. System
 * calls only: safe in the child of a program with threads.
 * @return 0; -errno, and errno is so: neither the kernel's call for it nor /proc is there
 */
int hes_close_but(int keep);

#endif
