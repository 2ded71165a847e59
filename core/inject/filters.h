/* What a system-call filter (seccomp) says of calls that are made in its process. */
#ifndef MT_INJECT_FILTERS_H
#define MT_INJECT_FILTERS_H

#include <linux/filter.h>
#include <stdint.h>

/* What may happen, whatever the arguments are: a set. */
#define MT_FILTER_ALLOWS 1u  /* the call is made */
#define MT_FILTER_FAILS 2u   /* it fails with an error, and nothing else happens */
#define MT_FILTER_HARMS 4u   /* the process is ended, gets a signal, or waits for another process */
#define MT_FILTER_UNCLEAR 8u /* the program is damaged, or has too many ways */

/* Runs a filter of the classic kind, as the kernel keeps it, for one system call of x86-64. Where
 * it looks at arguments, both ways are followed. After seccomp(2) and the kernel's
 * seccomp_check_filter. */
unsigned mt_filters_judge(const struct sock_filter *code, unsigned count, uint32_t number);

#endif
