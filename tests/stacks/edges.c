/* Stacks that end before what call frame information says of them, or that are gone: by a call on
 * another stack from a frame that is addressed by sp; a coroutine whose first return address lies
 * behind a call that does not return; one that was begun by a signal in a thread that has ended.
 * Above each stack nothing can be read, or not any more. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SIZE 65536
#define GUARD 4096
#define TURNS 4000

static void *volatile kept;

static void work(void)
{
	kept = malloc(100);
	free(kept);
}

static void close_page(char *p)
{
	if (mprotect(p, GUARD, PROT_NONE))
		abort();
}

static char *new_open_stack(void)
{
	char *p = mmap(NULL, SIZE + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);

	if (p == MAP_FAILED)
		abort();
	return p + SIZE;
}

static char *new_stack(void)
{
	char *top = new_open_stack();

	close_page(top);
	return top;
}

/* ---- a call ---- */

void on_stack(char *top, void (*function)(void));
__asm__(".text\n"
	"on_stack: .cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"
	"sub $512, %rsp\n.cfi_adjust_cfa_offset 512\n"
	"mov %rsp, %rbx\n"
	"mov %rdi, %rsp\n"
	"call *%rsi\n"
	"mov %rbx, %rsp\n"
	"add $512, %rsp\n.cfi_adjust_cfa_offset -512\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n");

/* ---- a coroutine ---- */

void change(void **to, void **from);
void beyond(void);
__asm__(".text\n"
	"change: push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp, (%rsi)\nmov (%rdi), %rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
	"before: .cfi_startproc\n"
	"sub $4104, %rsp\n.cfi_adjust_cfa_offset 4104\n"
	"call abort@PLT\n"
	".cfi_endproc\n"
	"beyond: .cfi_startproc\nud2\n.cfi_endproc\n");

static void *outside, *inside;

static void coroutine(void)
{
	for (;;) {
		work();
		change(&outside, &inside);
	}
}

static void begin_coroutine(void)
{
	void **p = (void **)new_stack();

	*--p = (void *)beyond;
	*--p = (void *)coroutine;
	for (int i = 0; i < 6; i++)
		*--p = NULL;
	inside = p;
}

/* ---- one that a signal begins ---- */

static jmp_buf begun, caller, resumed;

static void signalled(void)
{
	for (;;) {
		work();
		if (!_setjmp(resumed))
			_longjmp(caller, 1);
	}
}

static void handler(int number)
{
	(void)number;
	if (_setjmp(begun))
		signalled();
}

static void *creator(void *stack)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	stack_t alternate = {.ss_sp = (char *)stack - SIZE, .ss_size = SIZE};

	if (sigaction(SIGUSR2, &action, NULL) || sigaltstack(&alternate, NULL) || raise(SIGUSR2))
		abort();
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
	if (!_setjmp(caller))
		_longjmp(begun, 1);
	return NULL;
}

static void begin_by_signal(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	/* too large to be kept by the C library */
	if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, 64 << 20)
		|| pthread_create(&thread, &attributes, creator, new_stack())
		|| pthread_join(thread, NULL))
		abort();
}

int main(void)
{
	char *stacks[4];

	for (int i = 0; i < 4; i++)
		stacks[i] = new_stack();
	begin_coroutine();
	begin_by_signal();
	for (int i = 0; i < TURNS; i++) {
		on_stack(stacks[i % 4], work);
		change(&inside, &outside);
		if (!_setjmp(caller))
			_longjmp(resumed, 1);
	}
	stacks[0] = new_open_stack();
	for (int i = 0; i < 10; i++) {
		on_stack(stacks[0], work);
		if (i == 5)
			close_page(stacks[0]);
	}
	puts("ok");
	return 0;
}
