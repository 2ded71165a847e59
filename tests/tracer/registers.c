/* Vector registers hold values while a TLS descriptor is called, which keeps all but its result:
 * where a thread uses a library's variables for the first time, the dynamic linker calls malloc
 * meanwhile. Prints which halves of which registers are as they were: with some versions of glibc
 * not all are, even untraced. With -DLIBRARY: the library. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef LIBRARY
/* clang-format off */
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define SET(n) "	vpcmpeqd %ymm" #n ", %ymm" #n ", %ymm" #n "\n"
#define GET(n) "	vmovmskpd %ymm" #n ", %eax\n	movb %al, " #n "(%rdi)\n"
__thread char variables[20000]; /* more than what has its place from the start */

/* void touch(unsigned char halves[16]) */
__asm__("	.text\n"
	"	.globl touch\n"
	"	.type touch, @function\n"
	"touch:\n"
	"	.cfi_startproc\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	ALL(SET)
	"	leaq variables@TLSDESC(%rip), %rax\n"
	"	call *variables@TLSCALL(%rax)\n"
	"	movb $1, %fs:(%rax)\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	ALL(GET)
	"	vzeroupper\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size touch, . - touch\n");
/* clang-format on */
#else
static void (*touch)(unsigned char *);
static int print;

/* The words of so deep a stack are compared in vector registers. */
static __attribute__((noinline)) void deep(int frames)
{
	unsigned char halves[16];

	if (frames > 0) {
		deep(frames - 1);
		__asm__ volatile("" : : : "memory");
		return;
	}
	for (int i = 0; i < 3; i++)
		free(malloc(32));
	touch(halves);
	for (int i = 0; i < 16 && print; i++)
		printf("ymm%d %02x\n", i, halves[i]);
}

static void *run(void *unused)
{
	deep(100);
	return unused;
}

/* Twice: a stack that is new is looked up by way of libc. */
int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	pthread_t thread;

	if (!library || !__builtin_cpu_supports("avx2")) {
		puts(library ? "no such registers" : "no library");
		return library == NULL;
	}
	touch = (void (*)(unsigned char *))dlsym(library, "touch");
	for (; print < 2; print++) {
		pthread_create(&thread, NULL, run, NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}
#endif
