/*
 * version.h - version of the library and its program.
 */
#ifndef HESHARE_VERSION_H
#define HESHARE_VERSION_H

#define HES_VERSION "0.1.0"

#endif
