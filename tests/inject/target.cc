// A program that does all at once what an injected call can disturb, and counts what went wrong.
// target FILE: the file of struct shared. target MODE: one thread that is held somewhere.
#include "shared.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/rseq.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static shared *all;
static std::atomic<bool> go{true};

static void add(uint64_t &to) { __atomic_fetch_add(&to, 1, __ATOMIC_RELAXED); }

// ---- the function that is called from outside: it spoils what it may ----

extern "C" __attribute__((noinline, used)) uint64_t injected(
	uint64_t ticket, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	char room[16384];
	if (b != ticket + 1 || c != ticket + 2 || d != ticket + 3 || e != ticket + 4 || f != ticket + 5)
		add(all->wrong_arguments);
	memset(room, (int)ticket, sizeof room);
	asm volatile("" : : "r"(room) : "memory");
	for (int i = 0; i < 3000; i++)
		asm volatile("vpcmpeqb %%ymm0, %%ymm0, %%ymm0\n vpaddq %%ymm0, %%ymm1, %%ymm15\n"
			     "vpxor %%ymm7, %%ymm7, %%ymm7\n fldz\n fstp %%st(0)\n" ::: "memory");
	if (__builtin_cpu_supports("avx512f"))
		asm volatile("vpternlogd $0xff, %zmm31, %zmm31, %zmm31\n"
			     "vpternlogd $0xff, %zmm0, %zmm0, %zmm0\n kxnorw %k1, %k1, %k1\n");
	asm volatile("xor %%eax, %%eax\n cmp $1, %%eax\n" ::: "rax", "cc");
	__atomic_fetch_add(&all->ticket[ticket % TICKETS], 1, __ATOMIC_RELAXED);
	add(all->calls);
	return ticket * 7 + f;
}

// ---- what the threads do ----

static void park()
{
	if (!__atomic_load_n(&all->park, __ATOMIC_ACQUIRE))
		return;
	__atomic_fetch_add(&all->parked, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&all->park, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &all->park, FUTEX_WAIT, 1, nullptr, nullptr, 0);
	__atomic_fetch_sub(&all->parked, 1, __ATOMIC_ACQ_REL);
}

static uint64_t now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define TIME 5000000 // of one sleep

static void allocate(worker me)
{
	static thread_local struct { unsigned char *at; size_t size; unsigned char byte; } blocks[64];
	static thread_local unsigned seed = me + 1;
	for (int i = 0; i < 200; i++) {
		seed = seed * 1103515245 + 12345;
		auto &b = blocks[seed >> 8 & 63];
		for (size_t k = 0; k < b.size; k += 97)
			if (b.at[k] != b.byte)
				add(all->faults[me]);
		free(b.at);
		b.size = (seed >> 16 & 4095) + 1, b.byte = (unsigned char)seed;
		b.at = (unsigned char *)malloc(b.size);
		memset(b.at, b.byte, b.size);
	}
}

static void reap(worker me, pid_t pid, int wanted)
{
	int status = 0;
	pid_t got;
	while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		add(all->interrupts[me]);
	if (got != pid || status != wanted << 8)
		add(all->faults[me]);
}

static void make_child(worker me)
{
	pid_t pid = me == FORK ? fork() : vfork();
	if (pid == 0 && me == FORK)
		_exit(7);
	if (pid == 0) {
		char *arguments[] = {(char *)"sh", (char *)"-c", (char *)"exit 7", nullptr};
		execve("/bin/sh", arguments, environ);
		_exit(1);
	}
	if (pid < 0)
		add(all->faults[me]);
	else
		reap(me, pid, 7);
}

// A wait that must last its time and end by it alone.
static void wait_for(worker me)
{
	static thread_local int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t begin = now();
	timespec time = {0, TIME}, left;
	uint32_t word = 0;
	epoll_event event;
	long got = 0;
	bool interrupted = false;
	errno = 0;
	if (me == SLEEP)
		interrupted = (got = nanosleep(&time, &left)) < 0 && errno == EINTR;
	else if (me == POLL)
		interrupted = (got = poll(nullptr, 0, TIME / 1000000)) < 0 && errno == EINTR;
	else if (me == EPOLL)
		interrupted = (got = epoll_wait(epoll, &event, 1, TIME / 1000000)) < 0 && errno == EINTR;
	else if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0) < 0)
		interrupted = errno == EINTR, got = errno == EINTR || errno == ETIMEDOUT ? 0 : 1;
	if (interrupted)
		add(all->interrupts[me]);
	else if (got || now() - begin < TIME - 100000)
		add(all->faults[me]);
}

static thread_local volatile int handled;
static thread_local char *alternate_low;
static void on_alternate(int)
{
	char here;
	if (&here < alternate_low || &here >= alternate_low + 65536)
		add(all->faults[ALTERNATE]);
	handled++;
}

static void alternate(worker me)
{
	stack_t have;
	int before = handled;
	if (!alternate_low) {
		alternate_low = (char *)malloc(65536);
		stack_t mine = {};
		mine.ss_sp = alternate_low, mine.ss_size = 65536;
		sigaltstack(&mine, nullptr);
	}
	pthread_kill(pthread_self(), SIGUSR1);
	for (int i = 0; i < 20; i++) {
		sigaltstack(nullptr, &have);
		if (have.ss_sp != alternate_low || have.ss_flags || handled != before + 1)
			add(all->faults[me]);
		for (volatile int k = 0; k < 500; k++)
			;
	}
}

__attribute__((noinline)) static int thrower(int depth)
{
	if (!depth)
		throw 42;
	return thrower(depth - 1) + 1;
}
static void throws(worker me)
{
	try {
		thrower(20);
		add(all->faults[me]);
	} catch (int value) {
		if (value != 42)
			add(all->faults[me]);
	}
}

// All registers, flags, the x87 stack and the red zone have known contents for some time. The loop changes no flag.
static void registers(worker me)
{
	alignas(64) static thread_local unsigned char want[32 * 64], have[32 * 64];
	static const bool wide = __builtin_cpu_supports("avx512f");
	struct {
		uint64_t spins, bad;
		unsigned char *want, *have;
	} a = {150000, 0, want, have};
	for (unsigned i = 0; i < sizeof want; i++)
		want[i] = (unsigned char)(i * 31 + me + all->turns[me]);
	if (wide)
		asm volatile(".altmacro\n"
			     ".macro load n\n vmovdqu64 \\n*64(%0), %%zmm\\n\n.endm\n"
			     ".set i, 0\n.rept 32\n load %%i\n .set i, i+1\n.endr\n.purgem load\n.noaltmacro\n"
			     : : "r"(want));
	else
		asm volatile("vmovdqu (%0), %%ymm0\n vmovdqu 512(%0), %%ymm8\n vmovdqu 960(%0), %%ymm15\n" : : "r"(want));
	asm volatile(
		"push %%rbp\n push %%rbx\n mov %0, %%rbp\n"
		"fldpi\n"
		"mov 0(%%rbp), %%rcx\n mov $0x1111, %%rax\n mov $0x2222, %%rbx\n mov $0x3333, %%rdx\n"
		"mov $0x4444, %%rsi\n mov $0x5555, %%rdi\n mov $0x8888, %%r8\n mov $0x9999, %%r9\n"
		"mov $0xaaaa, %%r10\n mov $0xbbbb, %%r11\n mov $0xcccc, %%r12\n mov $0xdddd, %%r13\n"
		"mov $0xeeee, %%r14\n mov $0xffff, %%r15\n"
		"mov %%rax, -8(%%rsp)\n mov %%rbx, -64(%%rsp)\n mov %%rdx, -128(%%rsp)\n"
		"cmp %%rbx, %%rax\n stc\n std\n" // carry, sign, no zero, direction
		"1: lea -1(%%rcx), %%rcx\n jrcxz 2f\n jmp 1b\n"
		"2: jnc 3f\n jns 3f\n jz 3f\n"
		"lea -8(%%rsp), %%rcx\n" // the direction is still down
		"cld\n"
		"cmp $0x1111, %%rax\n jne 3f\n cmp $0x2222, %%rbx\n jne 3f\n cmp $0x3333, %%rdx\n jne 3f\n"
		"cmp $0x4444, %%rsi\n jne 3f\n cmp $0x5555, %%rdi\n jne 3f\n cmp $0x8888, %%r8\n jne 3f\n"
		"cmp $0x9999, %%r9\n jne 3f\n cmp $0xaaaa, %%r10\n jne 3f\n cmp $0xbbbb, %%r11\n jne 3f\n"
		"cmp $0xcccc, %%r12\n jne 3f\n cmp $0xdddd, %%r13\n jne 3f\n cmp $0xeeee, %%r14\n jne 3f\n"
		"cmp $0xffff, %%r15\n jne 3f\n"
		"cmp %%rax, -8(%%rsp)\n jne 3f\n cmp %%rbx, -64(%%rsp)\n jne 3f\n cmp %%rdx, -128(%%rsp)\n jne 3f\n"
		"fldpi\n fcompp\n fnstsw %%ax\n and $0x4500, %%ax\n cmp $0x4000, %%ax\n je 4f\n jmp 5f\n"
		"3: cld\n fstp %%st(0)\n"
		"5: incq 8(%%rbp)\n"
		"4: pop %%rbx\n pop %%rbp\n"
		: : "r"(&a)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	if (wide) {
		asm volatile(".altmacro\n"
			     ".macro store n\n vmovdqu64 %%zmm\\n, \\n*64(%0)\n.endm\n"
			     ".set i, 0\n.rept 32\n store %%i\n .set i, i+1\n.endr\n.purgem store\n.noaltmacro\n"
			     : : "r"(have) : "memory");
		if (memcmp(want, have, sizeof want))
			a.bad++;
	} else {
		asm volatile("vmovdqu %%ymm0, (%0)\n vmovdqu %%ymm8, 512(%0)\n vmovdqu %%ymm15, 960(%0)\n" : : "r"(have) : "memory");
		if (memcmp(want, have, 32) || memcmp(want + 512, have + 512, 32) || memcmp(want + 960, have + 960, 32))
			a.bad++;
	}
	asm volatile("vzeroupper");
	if (a.bad)
		add(all->faults[me]);
}

// A restartable sequence: while a thread is inside, the kernel forgets it only by going to the abort handler.
static void sequence(worker me)
{
	struct rseq *r = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	uint64_t forgotten = 0, aborted = 0;
	asm volatile(
		".pushsection .data.cs, \"aw\"\n .balign 32\n"
		"9: .long 0, 0\n .quad 1f, 2f-1f, 4f\n .popsection\n"
		"lea 9b(%%rip), %%rax\n mov %%rax, 8(%2)\n"
		"1: mov $60000, %%ecx\n"
		"5: dec %%ecx\n jnz 5b\n"
		"cmp %%rax, 8(%2)\n je 2f\n"
		"movq $1, %0\n"
		"2: movq $0, 8(%2)\n jmp 3f\n"
		".long 0x53053053\n" // RSEQ_SIG
		"4: movq $1, %1\n"
		"3:\n"
		: "+m"(forgotten), "+m"(aborted) : "r"(r) : "rax", "rcx", "memory", "cc");
	if (forgotten)
		add(all->faults[me]);
	if (aborted)
		add(all->aborts);
}

static int pipe_ends[2];
static void transfer(worker me)
{
	char byte = 1;
	if (me == WRITE) {
		timespec time = {0, TIME};
		if (nanosleep(&time, nullptr))
			add(all->interrupts[me]);
	}
	ssize_t got = me == READ ? read(pipe_ends[0], &byte, 1) : write(pipe_ends[1], &byte, 1);
	if (got < 0 && errno == EINTR)
		add(all->interrupts[me]);
	else if (got != 1 || byte != 1)
		add(all->faults[me]);
}

static void *born(void *argument) { return (char *)argument + 1; }
static void bear(worker me)
{
	pthread_t thread;
	void *result = nullptr;
	if (pthread_create(&thread, nullptr, born, all) || pthread_join(thread, &result) || result != (char *)all + 1)
		add(all->faults[me]);
}

// The writer parks last, so that the reader comes to park.
static void *work(void *argument)
{
	worker me = (worker)(uintptr_t)argument;
	all->thread[me] = gettid();
	while (go) {
		switch (me) {
		case ALLOCATE: case ALLOCATE_TOO: allocate(me); break;
		case FORK: case VFORK: make_child(me); break;
		case SLEEP: case POLL: case FUTEX: case EPOLL: wait_for(me); break;
		case ALTERNATE: alternate(me); break;
		case THROW: throws(me); break;
		case REGISTERS: case REGISTERS_TOO: registers(me); break;
		case SEQUENCE: sequence(me); break;
		case READ: case WRITE: transfer(me); break;
		default: bear(me);
		}
		add(all->turns[me]);
		if (me != WRITE || __atomic_load_n(&all->parked, __ATOMIC_ACQUIRE) == WORKER_COUNT - 1)
			park();
	}
	return nullptr;
}

// ---- modes with one thread, which is held somewhere ----

extern "C" __attribute__((noinline, used)) void held_here()
{
	for (;;)
		asm volatile("pause" ::: "memory");
}
extern "C" __attribute__((noinline, used)) void held_below(void (*function)())
{
	function();
	asm volatile("");
}
static void in_handler(int)
{
	for (;;)
		asm volatile("pause" ::: "memory");
}
static void say_ready()
{
	if (write(1, "ready\n", 6) != 6)
		_exit(1);
}

static int mode(const char *name)
{
	if (!strcmp(name, "held")) {
		say_ready();
		held_below(held_here);
	} else if (!strcmp(name, "handler")) {
		signal(SIGUSR1, in_handler);
		say_ready();
		raise(SIGUSR1);
	} else if (!strcmp(name, "epoll")) {
		epoll_event event;
		int epoll = epoll_create1(0);
		say_ready();
		for (;;)
			epoll_wait(epoll, &event, 1, -1);
	} else if (!strcmp(name, "vfork")) { // the child waits for a byte of its input before it executes something
		char byte;
		say_ready();
		if (vfork() == 0) {
			if (read(0, &byte, 1) < 0)
				_exit(1);
			_exit(0);
		}
		say_ready();
		pause();
	} else if (!strcmp(name, "seccomp")) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		struct sock_filter { uint16_t code; uint8_t jt, jf; uint32_t k; } allow = {6, 0, 0, 0x7fff0000};
		struct { unsigned short count; struct sock_filter *filter; } program = {1, &allow};
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
		say_ready();
		pause();
	} else if (!strcmp(name, "leader")) { // the first thread ends
		pthread_t thread;
		pthread_create(&thread, nullptr, [](void *) -> void * { say_ready(); for (;;) pause(); }, nullptr);
		pthread_exit(nullptr);
	} else if (!strcmp(name, "spin")) {
		say_ready();
		for (;;)
			asm volatile("pause" ::: "memory");
	} else {
		say_ready();
		for (;;)
			pause();
	}
	return 0;
}

int main(int count, char **arguments)
{
	if (count != 2)
		return 2;
	if (*arguments[1] != '/')
		return mode(arguments[1]);
	int fd = open(arguments[1], O_RDWR | O_CLOEXEC);
	all = (shared *)mmap(nullptr, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (all == MAP_FAILED || pipe2(pipe_ends, O_CLOEXEC))
		return 2;
	close(fd);
	sigset_t term;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, nullptr);
	struct sigaction action = {};
	action.sa_handler = on_alternate;
	action.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(SIGUSR1, &action, nullptr);
	for (uintptr_t i = 0; i < WORKER_COUNT; i++) {
		pthread_t thread;
		if (pthread_create(&thread, nullptr, work, (void *)i))
			return 2;
	}
	__atomic_store_n(&all->ready, 1, __ATOMIC_RELEASE);
	int got = 0;
	sigwait(&term, &got); // EINTR would be its end
	return got == SIGTERM ? 0 : 3;
}
