/* Between the tracer and libc: the installation of a filter without instructions, which will be
 * refused, by prctl goes on when it is told to; one by seccomp returns then. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t there, go;

__attribute__((constructor)) static void prepare(void)
{
	sem_init(&there, 0, 0);
	sem_init(&go, 0, 0);
}

void bells_late_await(void);
void bells_late_await(void)
{
	sem_wait(&there);
}

void bells_late_go(void);
void bells_late_go(void)
{
	sem_post(&go);
}

int prctl(int option, ...)
{
	int (*next)(int, unsigned long, unsigned long, unsigned long, unsigned long);
	unsigned long a[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	*(void **)&next = dlsym(RTLD_NEXT, "prctl");
	if (option == PR_SET_SECCOMP && ((const struct sock_fprog *)a[1])->len == 0) {
		sem_post(&there);
		sem_wait(&go);
	}
	return next(option, a[0], a[1], a[2], a[3]);
}

long syscall(long number, ...)
{
	long (*next)(long, long, long, long, long, long, long), a[6], result;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_seccomp && result == 0) {
		sem_post(&there);
		sem_wait(&go);
	}
	return result;
}
