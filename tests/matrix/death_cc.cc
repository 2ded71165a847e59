// death_cc HOW: 1,000 live blocks, then: throws (an uncaught exception), terminate, or thread_local (destructors of
// thread-local objects, of statics and of the main thread's, free what their blocks are).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

static void *volatile kept[1000];

__attribute__((noinline)) static void *case_keep(std::size_t i)
{
	void *volatile p = ::operator new(100 + i);
	return p;
}

__attribute__((noinline)) static void *case_local(std::size_t i)
{
	void *volatile p = ::operator new[](100 + i);
	return p;
}

struct Owner {
	void *blocks[1000];
	Owner() { for (std::size_t i = 0; i < 1000; i++) blocks[i] = case_local(i); }
	~Owner() { for (void *p : blocks) ::operator delete[](p); }
	void touch() { blocks[0] = *static_cast<void *volatile *>(blocks); }
};

static thread_local Owner mine;

static void say(const char *text)
{
	if (write(1, text, std::strlen(text)) < 0)
		_exit(99);
}

static void locals()
{
	static Owner one;

	one.touch();
	mine.touch();
	for (int round = 0; round < 2; round++) {
		std::vector<std::thread> threads;

		for (int i = 0; i < 8; i++)
			threads.emplace_back([] { mine.touch(); });
		for (auto &t : threads)
			t.join();
	}
	say("ANY ambiguous\nCASE case_local count=18000 bytes=10791000 leaked=0 leaked_bytes=0\n");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	say("CASE case_keep count=1000 bytes=599500 leaked=1000 leaked_bytes=599500\n");
	for (std::size_t i = 0; i < 1000; i++)
		kept[i] = case_keep(i);
	if (!std::strcmp(how, "throws"))
		throw std::runtime_error("nobody catches it");
	if (!std::strcmp(how, "terminate"))
		std::terminate();
	if (!std::strcmp(how, "thread_local"))
		locals();
	return 0;
}
