/* demo: a small server in the making. It answers requests from a pool of workers, keeps a cache
 * that fills up and stays, and forgets the session of every request that ends in an error: that is
 * the leak to find. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORKERS 3
#define CACHE_SLOTS 4096

struct session {
	char *user;
	char *scratch;
	size_t scratch_len;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static char *cache[CACHE_SLOTS];
static atomic_ulong requests, errors;
static volatile sig_atomic_t stop;

static uint32_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 33;
}

static __attribute__((noinline)) struct session *session_new(uint64_t *seed)
{
	struct session *s = malloc(sizeof *s);

	s->user = malloc(32);
	snprintf(s->user, 32, "user-%u", next_random(seed) % 100000);
	s->scratch_len = 256 + next_random(seed) % 4096;
	s->scratch = malloc(s->scratch_len);
	memset(s->scratch, 'x', s->scratch_len);
	return s;
}

static __attribute__((noinline)) void session_end(struct session *s)
{
	free(s->scratch);
	free(s->user);
	free(s);
}

static __attribute__((noinline)) void cache_store(const char *key)
{
	uint32_t slot = 5381;

	for (const char *c = key; *c; c++)
		slot = slot * 33 ^ (unsigned char)*c;
	pthread_mutex_lock(&cache_lock);
	free(cache[slot % CACHE_SLOTS]);
	cache[slot % CACHE_SLOTS] = strdup(key);
	pthread_mutex_unlock(&cache_lock);
}

static __attribute__((noinline)) char *render(const struct session *s, uint64_t *seed)
{
	size_t capacity = 64, len = 0;
	char *page = malloc(capacity);

	for (unsigned rows = 4 + next_random(seed) % 12; rows; rows--) {
		if (capacity - len < 128)
			page = realloc(page, capacity *= 2);
		len += (size_t)snprintf(page + len, capacity - len, "<p>%s %u</p>", s->user, rows);
	}
	return page;
}

static __attribute__((noinline)) int handle_request(uint64_t *seed)
{
	struct session *s = session_new(seed);
	char *page = render(s, seed);

	cache_store(s->user);
	free(page);
	if (next_random(seed) % 50 == 0)
		return -1; /* the error path: nobody ends the session */
	session_end(s);
	return 0;
}

static void *worker(void *arg)
{
	uint64_t seed = 88172645463325252ull + (uintptr_t)arg * 7919;

	while (!stop) {
		for (int i = 0; i < 20; i++) {
			atomic_fetch_add(&requests, 1);
			if (handle_request(&seed))
				atomic_fetch_add(&errors, 1);
		}
		nanosleep(&(struct timespec){0, 4000000}, NULL);
	}
	return NULL;
}

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? atol(argv[1]) : 300;
	pthread_t threads[WORKERS];

	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	for (long s = 0; s < seconds && !stop; s++) {
		nanosleep(&(struct timespec){1, 0}, NULL);
		printf("%4lds  %lu requests, %lu errors\n", s + 1, atomic_load(&requests),
			atomic_load(&errors));
		fflush(stdout);
	}
	stop = 1;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
