/* A program that installs a system-call filter (seccomp) is sealed: the filter may kill for any
 * call that it does not expect, so the tracer makes none from then on. */
#ifndef MT_SEAL_H
#define MT_SEAL_H

typedef long (*mt_real_syscall_function)(long, long, long, long, long, long, long);
/* libc's syscall(); the hook in arch/x86_64/syscall.c jumps to it. */
extern mt_real_syscall_function mt_real_syscall;

#endif
