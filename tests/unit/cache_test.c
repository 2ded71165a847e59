/* The cache of names: a program with inlined functions is looked up without it, with an empty one
 * and with a full one. That names come from it is seen by names that only it holds ("poisoned").
 * Runs in the repository's root. */
#include "core/symbol/cache.h"

#include "tests/unit/symbol_fixture.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define KEY_AT 16 /* in a file: magic, checksum and count stand before it */
#define WRITERS 8

static const char *binary; /* the module that is looked up */

/* ---- helpers ---- */

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static struct mt_buffer slurp(const char *path)
{
	struct mt_buffer bytes = {0};
	FILE *in = fopen(path, "r");
	char part[4096];

	assert_non_null(in);
	for (size_t len; (len = fread(part, 1, sizeof part, in)) > 0;)
		mt_buffer_add(&bytes, part, len);
	fclose(in);
	return bytes;
}

static void put(const char *path, const void *bytes, size_t len)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

/* The only file of names in a directory. */
static char *names_in(const char *directory)
{
	static char path[512];
	char command[600];
	FILE *list;

	snprintf(command, sizeof command, "ls %s/*.names", directory);
	list = popen(command, "r");
	assert_non_null(fgets(path, sizeof path, list));
	assert_int_equal(pclose(list), 0);
	path[strcspn(path, "\n")] = 0;
	return path;
}

/* What a trace would keep of the names of every step-th address, and what is missing. */
static struct mt_buffer look_up(const char *cache, unsigned step)
{
	uint8_t id[MT_BUILD_ID_MAX];
	struct mt_buffer block = {0};
	struct fixture f;
	char *missing, hex[2 * MT_BUILD_ID_MAX + 1] = "", command[600];
	uint32_t len = 0;
	FILE *readelf;

	snprintf(command, sizeof command, "readelf -n %s | sed -n 's/.*Build ID: //p'", binary);
	readelf = popen(command, "r");
	assert_int_equal(fscanf(readelf, "%64s", hex), 1);
	pclose(readelf);
	for (unsigned byte; sscanf(hex + 2 * len, "%2x", &byte) == 1; len++)
		id[len] = (uint8_t)byte;
	fixture_new(&f);
	add_module(&f.profile, binary, id, len);
	sample(&f, at("program.whole"), step, 3000);
	add_address(&f, 8); /* no function is there */
	resolve(&f, &(struct mt_resolver_options){.cache = cache}, &missing);
	mt_symbols_encode(&f.symbols, &block);
	mt_buffer_add(&block, missing ? missing : "", strlen(missing ? missing : "") + 1);
	free(missing);
	fixture_free(&f);
	return block;
}

static bool same(const char *cache, unsigned step)
{
	struct mt_buffer a = look_up(NULL, step), b = look_up(cache, step);
	bool equal = a.len == b.len && !memcmp(a.data, b.data, a.len);

	mt_buffer_free(&a);
	mt_buffer_free(&b);
	return equal;
}

static struct mt_cached *parse(const struct mt_buffer *bytes)
{
	struct mt_cache_key key;
	struct mt_cached *c;

	assert_true(bytes->len > KEY_AT + sizeof key);
	memcpy(&key, bytes->data + KEY_AT, sizeof key);
	c = mt_cached_new(&key);
	if (!mt_cached_decode(c, bytes->data, bytes->len)) {
		mt_cached_free(c);
		return NULL;
	}
	return c;
}

/* Gives all functions of a file of names another one. */
static void poison(const char *path)
{
	struct mt_buffer old = slurp(path), bytes = {0};
	struct mt_cached *from = parse(&old), *to = mt_cached_new(&from->key);
	struct mt_symbols s;

	mt_symbols_init(&s);
	mt_symbols_add_frame(&s,
		&(struct mt_frame){.function = mt_strings_add(&s.strings, "poisoned")});
	mt_symbols_set(&s, 0, 0);
	for (uint32_t i = 0; i < from->count; i++)
		mt_cached_add(to, from->offsets[i], &s, 0, "");
	mt_cached_encode(to, NULL, &bytes);
	put(path, bytes.data, bytes.len);
	mt_symbols_free(&s);
	mt_buffer_free(&old);
	mt_buffer_free(&bytes);
	mt_cached_free(from);
	mt_cached_free(to);
}

static bool is_poisoned(const char *cache)
{
	struct mt_buffer block = look_up(cache, 7);
	bool found = memmem(block.data, block.len, "poisoned", 8);

	mt_buffer_free(&block);
	return found;
}

static void fresh(const char *directory)
{
	run("rm -rf %s", directory);
}

/* ---- what is kept ---- */

static void test_same_names(void **state)
{
	char *cache = strdup(at("same"));
	struct stat st;

	(void)state;
	assert_true(same(cache, 7)); /* empty */
	assert_true(same(cache, 7)); /* full */
	assert_true(same(cache, 3)); /* half of them */
	assert_true(same(cache, 3));
	assert_int_equal(stat(cache, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(names_in(cache), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	poison(names_in(cache));
	assert_true(is_poisoned(cache));
	free(cache);
}

/* What a name depends on is exchanged: names from before are void. */
static void test_void(void **state)
{
	static const char *const changes[] = {
		"touch %s/program",
		"cp %s/program %s/copy && mv %s/copy %s/program",
		"touch %s/program.debug",
		"rm %s/program.debug",
		"cp %s/program.kept %s/program.debug",
		"cat %s/program.kept > %s/program.debug",
	};
	char *cache = strdup(at("void"));

	(void)state;
	run("cd %s && cp program.debug program.kept", work);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		fresh(cache);
		assert_true(same(cache, 7));
		bool kept = exists(at("void")) && exists(at("program.debug"));

		if (kept) {
			poison(names_in(cache));
			assert_true(is_poisoned(cache));
		}
		run(changes[i], work, work, work, work);
		assert_false(is_poisoned(cache));
		assert_true(same(cache, 7));
		assert_true(kept || i == 4); /* without debug information nothing is kept */
	}
	free(cache);
}

static void test_small_files(void **state)
{
	const char *before = binary;

	(void)state;
	binary = strdup(at("small"));
	assert_true(same(at("none"), 7));
	assert_false(exists(at("none")));
	free((char *)binary);
	binary = before;
}

/* ---- damage ---- */

static void test_damaged_names(void **state)
{
	char *cache = strdup(at("damaged"));

	(void)state;
	assert_true(same(cache, 7));
	char *path = names_in(cache);
	struct mt_buffer good = slurp(path), bad = slurp(path);

	for (size_t len = 0; len < good.len; len += 1 + len / 97) {
		uint8_t *exact = malloc(len + 1);
		struct mt_cached *c = mt_cached_new((struct mt_cache_key *)(good.data + KEY_AT));

		memcpy(exact, good.data, len);
		assert_false(mt_cached_decode(c, exact, len));
		free(exact);
		mt_cached_free(c);
	}
	srand(1);
	for (unsigned i = 0; i < 3000; i++) { /* with a checksum that is right */
		size_t where = i & 1 ? (size_t)rand() % 400 : (size_t)rand() % good.len;
		uint32_t crc;

		memcpy(bad.data, good.data, good.len);
		bad.data[where] ^= (uint8_t)(1 + rand() % 255);
		struct mt_cached *c = mt_cached_new((struct mt_cache_key *)(good.data + KEY_AT));
		assert_false(mt_cached_decode(c, bad.data, bad.len));
		crc = (uint32_t)crc32(0, bad.data + 12, (unsigned)bad.len - 12);
		memcpy(bad.data + 8, &crc, sizeof crc);
		mt_cached_decode(c, bad.data, bad.len);
		for (uint32_t k = 0; k < c->count; k++)
			assert_true(mt_cached_find(c, c->offsets[k]) == k && c->known.pcs[k].count);
		mt_cached_free(c);
	}
	for (size_t len = 0; len < good.len; len += good.len / 3) { /* rewritten */
		put(path, good.data, len);
		assert_true(same(cache, 7));
		struct mt_buffer again = slurp(path);

		assert_int_equal(again.len, good.len);
		assert_memory_equal(again.data, good.data, good.len);
		mt_buffer_free(&again);
	}
	mt_buffer_free(&good);
	mt_buffer_free(&bad);
	free(cache);
}

/* ---- directories and files that are not as they should be ---- */

static void test_not_ours(void **state)
{
	char *cache = strdup(at("open")), *path;

	(void)state;
	assert_true(same(cache, 7));
	path = names_in(cache);
	poison(path);
	run("chmod 770 %s", cache);
	assert_false(is_poisoned(cache));
	run("chmod 700 %s && chmod 660 %s", cache, path);
	assert_false(is_poisoned(cache)); /* and it is rewritten */
	poison(path);
	assert_true(is_poisoned(cache));
	run("mv %s %s.target && ln -s %s.target %s", path, path, path, path);
	assert_false(is_poisoned(cache));
	run("rm %s && mkfifo %s", path, path);
	assert_true(same(cache, 7));
	run("rm %s && mkdir %s", path, path);
	assert_true(same(cache, 7));
	assert_true(same(at("program"), 7)); /* no directory */
	assert_true(same(at("no/such/directory/at/all"), 7));
	assert_false(exists(at("no")));
	if (geteuid() == 0) {
		run("rm -rf %s && mkdir -m 700 %s && chown 1 %s", cache, cache, cache);
		assert_true(same(cache, 7));
		run("test -z \"$(ls -A %s)\"", cache);
	}
	free(cache);
}

static void test_no_room(void **state)
{
	char *cache = strdup(at("full"));
	struct rlimit limit, small = {1000, 1000};
	int status;

	(void)state;
	if (fork() == 0) {
		small.rlim_max = getrlimit(RLIMIT_FSIZE, &limit) ? 0 : limit.rlim_max;
		setrlimit(RLIMIT_FSIZE, &small);
		struct mt_buffer block = look_up(cache, 7);

		_exit(!block.len);
	}
	wait(&status);
	assert_int_equal(status, 0);
	run("test -z \"$(ls -A %s)\"", cache);
	assert_true(same(cache, 7));
	names_in(cache);
	free(cache);
}

/* What is least used goes; what bears another name stays. */
static void test_bound(void **state)
{
	char *cache = strdup(at("bound"));
	struct stat st;

	(void)state;
	run("mkdir -m 700 %s && cd %s && for i in $(seq 10 79); do head -c 1048576 /dev/zero > "
	    "abcd$i.names && touch -d @$((1000000000 + i)) abcd$i.names; done; head -c 1048576 "
	    "/dev/zero > other.names; touch -d 2000-01-01 other.names; echo > "
	    "abcd.names.7.aside; touch -d 2000-01-01 abcd.names.7.aside",
		cache, cache);
	assert_true(same(cache, 7));
	assert_false(exists(at("bound/abcd10.names")));
	assert_false(exists(at("bound/abcd15.names")));
	assert_true(exists(at("bound/abcd79.names")));
	assert_true(exists(at("bound/abcd30.names")));
	assert_int_equal(stat(at("bound/other.names"), &st), 0);
	assert_false(exists(at("bound/abcd.names.7.aside")));
	run("rm %s/abcd*.names", cache);
	free(cache);
}

/* Several recorders at once: whoever reads sees something whole, and nothing is left aside. */
static void test_at_once(void **state)
{
	char *cache = strdup(at("many"));
	int status;

	(void)state;
	for (int i = 0; i < WRITERS; i++) {
		if (fork() == 0) {
			bool good = true;

			for (int k = 0; k < 5; k++)
				good = good && same(cache, 3 + (unsigned)(i + k) % 7);
			_exit(!good);
		}
	}
	for (int i = 0; i < WRITERS; i++) {
		wait(&status);
		assert_int_equal(status, 0);
	}
	struct mt_buffer bytes = slurp(names_in(cache));
	struct mt_cached *c = parse(&bytes);

	assert_non_null(c);
	mt_cached_free(c);
	mt_buffer_free(&bytes);
	run("test $(ls -A %s | wc -l) = 1", cache);
	free(cache);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(work, sizeof work, "/tmp/cache_test_XXXXXX");
	if (!mkdtemp(work))
		return -1;
	run("echo 'char room[600000] = {1};' > %s/room.cc && g++ -O2 -g -Wl,--build-id -o "
	    "%s/program.whole tests/programs/symbols_cc.cc %s/room.cc",
		work, work, work);
	run("cd %s && objcopy --only-keep-debug program.whole program.debug && objcopy --strip-all "
	    "--add-gnu-debuglink=program.debug program.whole program",
		work);
	run("gcc -O2 -g -Wl,--build-id -o %s/small tests/programs/symbols_c.c", work);
	binary = strdup(at("program"));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free((char *)binary);
	run("chmod -R u+rwx %s; rm -rf %s", work, work);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_names),
		cmocka_unit_test(test_small_files),
		cmocka_unit_test(test_damaged_names),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_void),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
