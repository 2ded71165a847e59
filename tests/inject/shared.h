/* What the program and the one who injects calls into it share, in a file that both map. */
#ifndef TESTS_INJECT_SHARED_H
#define TESTS_INJECT_SHARED_H

#include <stdint.h>

#define TICKETS 65536

/* Threads of the program; each counts its turns. */
// clang-format off
#define WORKERS(X) \
	X(ALLOCATE) X(ALLOCATE_TOO) X(FORK) X(VFORK) X(SLEEP) X(POLL) X(FUTEX) X(EPOLL) \
	X(ALTERNATE) X(THROW) X(REGISTERS) X(REGISTERS_TOO) X(SEQUENCE) X(READ) X(WRITE) X(BIRTH)
enum worker {
#define X(name) name,
	WORKERS(X)
#undef X
	WORKER_COUNT
};
// clang-format on

struct shared {
	uint64_t turns[WORKER_COUNT];
	uint64_t faults[WORKER_COUNT]; /* wrong contents, short sleeps, errors other than EINTR */
	uint64_t interrupts[WORKER_COUNT]; /* EINTR without a signal */
	uint64_t aborts;                   /* of restartable sequences: no fault */
	int32_t thread[WORKER_COUNT];      /* their ids */
	uint32_t ready, park, parked;
	/* by the injected function */
	uint64_t calls, wrong_arguments;
	uint8_t ticket[TICKETS];
	/* by the one who injects */
	uint32_t stage; /* STAGE_... */
	uint32_t next_ticket, done_tickets[2];
	uint64_t done_calls;
	char error[512];
};
enum { STAGE_BEGINS, STAGE_CALLS, STAGE_STOPS };

#endif
