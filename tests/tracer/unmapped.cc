// operator new is left by an exception, and the stack that it was called on is then unmapped. Another stack right below
// calls operator new out of the C++ library: nothing of the old one may be read.
#include <ucontext.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

static ucontext_t main_context, context;
static void *volatile keep;
static int caught, made;

static void fails()
{
	volatile char space[2048]; // the call lies in the middle of the topmost page

	space[0] = 0;
	try {
		keep = ::operator new(SIZE_MAX / 4 + space[0]);
	} catch (const std::bad_alloc &) {
		caught++;
	}
}

static void makes()
{
	std::string text(100, 'x');

	text.append(text).append(text);
	made += text.size() == 400;
}

static void run(char *stack, size_t size, void (*function)())
{
	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = size;
	context.uc_link = &main_context;
	makecontext(&context, function, 0);
	swapcontext(&main_context, &context);
}

int main()
{
	const size_t size = 1 << 18, page = 4096;
	char *stack = (char *)mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	run(stack, size + page, fails);
	munmap(stack + size, page);
	run(stack, size, makes);
	std::printf("%d %d\n", caught, made);
	return caught != 1 || made != 1;
}
