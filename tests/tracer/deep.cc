// deep HOW DIRECTORY: opens libraries in every way, with RTLD_DEEPBIND unless HOW is plain, closes
// them and opens them again; blocks of all kinds are made and ended on both sides of the border.
// once: one library, once. sealed: that, behind a system-call filter. forked: in a child. named: by
// dlmopen. apart: once, and no block crosses the border; in the end the library sets such a filter.
// space: no block crosses either, in a name space of its own. Their sizes are 7000 to 7999.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>

extern "C" {
#include "truth.h"
}
#include "deep.h"

static std::string directory;
static int deep = RTLD_DEEPBIND;
static bool apart;
static Lmid_t space = LM_ID_BASE;
static bool named;

static void *open(const char *name, int flags)
{
	std::string path = directory + "/" + name;
	void *library = named ? dlmopen(space, path.c_str(), flags | deep)
			      : dlopen(path.c_str(), flags | deep);

	if (!library)
		dprintf(2, "%s\n", dlerror());
	must(library);
	must(dlopen(nullptr, RTLD_NOW | deep)); // binds nothing, as what follows
	if (void *same = named ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | deep))
		must(dlclose(same) == 0);
	return library;
}

template <typename T> static T *function(void *library, const char *name)
{
	T *p = reinterpret_cast<T *>(dlsym(library, name));

	must(p);
	return p;
}

static void use(void *library)
{
	auto make = function<void *(int)>(library, "library_make");
	auto end = function<void(int, void *)>(library, "library_end");

	for (int way = 0; way < WAYS; way++) {
		if (apart && way == 6) // of libc, but by way of the realloc that comes first
			continue;
		end(way, make(way));
		if (apart)
			continue;
		deep_end(way, make(way));
		end(way, deep_make(way));
	}
	function<void()>(library, "library_leak")();
}

static void use_once()
{
	void *library = open("libdeep.so", RTLD_LAZY);

	use(library);
	if (apart && space == LM_ID_BASE)
		function<void()>(library, "library_seal")();
	dlclose(library);
}

static pthread_barrier_t all_opened, all_used;

static void *use_at_once(void *)
{
	void *library = open("libdeep.so", RTLD_LAZY);

	pthread_barrier_wait(&all_opened);
	use(library);
	pthread_barrier_wait(&all_used);
	dlclose(library);
	return nullptr;
}

static void use_threads()
{
	pthread_t threads[4];

	pthread_barrier_init(&all_opened, nullptr, 4);
	pthread_barrier_init(&all_used, nullptr, 4);
	for (pthread_t &t : threads)
		must(pthread_create(&t, nullptr, use_at_once, nullptr) == 0);
	for (pthread_t t : threads)
		pthread_join(t, nullptr);
}

// its own functions, in its own memory
static void use_own()
{
	void *library = open("libdeepown.so", RTLD_NOW);

	printf("own: %d\n", function<int()>(library, "own_works")());
	dlclose(library);
}

// by a name that is looked for beside the library that asks
static void use_beside()
{
	void *library = open("beside/libopener.so", RTLD_NOW);
	void *inner = function<void *(int)>(library, "open_inner")(RTLD_NOW | deep);

	if (!inner)
		dprintf(2, "%s\n", dlerror());
	must(inner);
	use(inner);
	dlclose(inner);
	dlclose(library);
}

static void seal()
{
	sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	sock_fprog program = {1, &allow};

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

int main(int, char **argv)
{
	std::string how = argv[1];

	directory = argv[2];
	if (how == "plain")
		deep = 0;
	apart = how == "apart" || how == "space";
	named = how == "named" || how == "space";
	if (how == "space")
		space = LM_ID_NEWLM;
	if (how == "sealed")
		seal();
	if (how == "forked" && fork() > 0)
		return wait(nullptr) < 0;
	if (how == "deep" || how == "plain") {
		use_threads();
		for (int round = 0; round < 3; round++)
			for (int flags : {RTLD_NOW, RTLD_LAZY, RTLD_NOW | RTLD_GLOBAL}) {
				void *library = open("libdeep.so", flags);

				use(library);
				dlclose(library);
			}
		use_beside();
		if (deep)
			use_own();
	} else {
		use_once();
	}
	printf("done\n");
	return 0;
}
