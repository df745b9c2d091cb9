/*
 * quantity.h - times and energies as text for people: "3 h 52 min", "4.82 MJ".
 */
#ifndef HES_BASE_QUANTITY_H
#define HES_BASE_QUANTITY_H

#define HES_QUANTITY_MAX 32

/**
 * A time: three digits up to a minute ("41.2 s", "350 ms"), then two units ("9 min 28 s", "3 h 52
 * min", "2 d 5 h"), of which the second is left out when it is 0. "-" for what is not a number.
 * @return @out
 */
const char *hes_time_text(char out[HES_QUANTITY_MAX], double us);

/** An energy with three digits, in J, kJ, MJ, GJ or TJ. "-" for what is not a number. @return @out
 */
const char *hes_energy_text(char out[HES_QUANTITY_MAX], double mj);

#endif
