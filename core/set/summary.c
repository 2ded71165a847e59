#include "core/set/summary.h"

#include "core/base/cache_directory.h"
#include "core/model/load.h"
#include "core/query/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".set"
#define BYTES_MOST (256u << 20) /* all summaries together */
#define SETTLED_S 2             /* a file that is younger may change within the clock's step */
#define MEMBERS_MAGIC 0x31746573u

struct mt_set_summary {
	struct mt_cache_directory *directory;
	char name[33 + sizeof SUFFIX];
	uint32_t count; /* recordings */
};

/* ---- the name: what the set was made from ---- */

/* Two sums of 64 bits, by FNV-1a with different bases. */
struct digest {
	uint64_t sums[2];
};

static void add(struct digest *d, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < len; i++)
		for (int k = 0; k < 2; k++)
			d->sums[k] = (d->sums[k] ^ at[i]) * 0x100000001b3ull;
}

/* Path and what tells that a file is still the same. */
static bool add_file(struct digest *d, const char *path)
{
	char *whole = realpath(path, NULL);
	struct stat st;
	bool fits = whole && !stat(whole, &st) && S_ISREG(st.st_mode)
		&& st.st_mtim.tv_sec + SETTLED_S < time(NULL);

	if (fits) {
		const uint64_t numbers[] = {st.st_dev, st.st_ino, (uint64_t)st.st_size,
			(uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec,
			(uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec};

		add(d, path, strlen(path) + 1); /* as the list of processes says it */
		add(d, whole, strlen(whole) + 1);
		add(d, numbers, sizeof numbers);
	}
	free(whole);
	return fits;
}

struct mt_set_summary *mt_set_summary_new(const char *directory, char *const *paths, uint32_t count,
	enum mt_set_stacks stacks)
{
	struct digest d = {{0xcbf29ce484222325ull, 0x84222325cbf29ce4ull}};
	const uint32_t kind[] = {MEMBERS_MAGIC, (uint32_t)stacks,
		sizeof(struct mt_session_process)};
	struct mt_set_summary *s;

	if (!directory || count < MT_SET_SUMMARY_LEAST)
		return NULL;
	add(&d, MT_VERSION, sizeof MT_VERSION);
	add(&d, kind, sizeof kind);
	for (uint32_t i = 0; i < count; i++)
		if (!add_file(&d, paths[i]))
			return NULL;
	s = mt_alloc(sizeof *s);
	s->directory = mt_cache_directory_new(directory, SUFFIX, BYTES_MOST);
	s->count = count;
	snprintf(s->name, sizeof s->name, "%016llx%016llx" SUFFIX, (unsigned long long)d.sums[0],
		(unsigned long long)d.sums[1]);
	return s;
}

void mt_set_summary_free(struct mt_set_summary *s)
{
	if (!s)
		return;
	mt_cache_directory_free(s->directory);
	free(s);
}

/* ---- the members' block ----
 *   u32 magic, processes, recordings, groups
 *   u32 flags of each group (MT_GROUP_ESTIMATED, MT_GROUP_SUMMED)
 *   the processes, as they are in memory: the file is never another machine's
 */
struct head {
	uint32_t magic, processes, recordings, groups;
};

static void encode(struct mt_buffer *out, const struct mt_set_summary *s,
	const struct mt_profile *p, const struct mt_family *members)
{
	const struct head head = {MEMBERS_MAGIC, members->count, s->count, p->group_count};

	mt_buffer_add(out, &head, sizeof head);
	for (uint32_t i = 0; i < p->group_count; i++)
		mt_buffer_add(out, &p->groups[i].flags, sizeof p->groups[i].flags);
	mt_buffer_add(out, members->items, members->count * sizeof *members->items);
}

static void end_texts(struct mt_session_process *process)
{
	process->command[sizeof process->command - 1] = 0;
	process->trace_path[sizeof process->trace_path - 1] = 0;
}

static bool decode(const struct mt_buffer *block, const struct mt_set_summary *s,
	struct mt_profile *p, struct mt_family *members)
{
	struct mt_session_process *items;
	struct head head;

	if (block->len < sizeof head)
		return false;
	memcpy(&head, block->data, sizeof head);
	if (head.magic != MEMBERS_MAGIC || head.groups != p->group_count
		|| head.recordings != s->count || !head.processes
		|| head.processes > head.recordings + 1
		|| block->len
			!= sizeof head + (uint64_t)head.groups * sizeof(uint32_t)
				+ (uint64_t)head.processes * sizeof *items)
		return false;
	const uint8_t *flags = block->data + sizeof head;

	for (uint32_t i = 0; i < head.groups; i++)
		memcpy(&p->groups[i].flags, flags + i * sizeof(uint32_t), sizeof(uint32_t));
	for (uint32_t i = 0; i < head.groups; i++)
		p->groups[i].flags &= MT_GROUP_ESTIMATED | MT_GROUP_SUMMED;
	items = mt_alloc(((size_t)head.processes + 1) * sizeof *items);
	memcpy(items, flags + (size_t)head.groups * sizeof(uint32_t),
		head.processes * sizeof *items);
	for (uint32_t i = 0; i < head.processes; i++)
		end_texts(&items[i]);
	mt_family_make(members, items, head.processes);
	return true;
}

/* ---- the file ---- */

static bool take(const struct mt_set_summary *s, struct mt_trace_reader *reader,
	struct mt_set_opened *out)
{
	struct mt_buffer block = {0}, names = {0};
	struct mt_profile profile;
	struct mt_symbols symbols;
	struct mt_err ignored = {0};
	bool good = false;

	mt_profile_init(&profile);
	mt_symbols_init(&symbols);
	int status = mt_trace_reader_complete(reader)
		? mt_profile_load(&profile, reader, NULL, NULL, &ignored)
		: -ENODATA;

	for (uint32_t i = 0; i < mt_trace_reader_count(reader) && status >= 0; i++) {
		enum mt_block_type type = mt_trace_reader_block(reader, i)->type;

		if (type == MT_BLOCK_SYMBOLS)
			status = mt_trace_reader_payload(reader, i, &names, &ignored);
		else if (type == MT_BLOCK_MEMBERS)
			status = mt_trace_reader_payload(reader, i, &block, &ignored);
	}
	if (status >= 0 && !mt_trace_reader_damage(reader, NULL))
		good = !mt_symbols_decode(&symbols, names.data, names.len, &ignored)
			&& decode(&block, s, &profile, &out->members);
	mt_buffer_free(&block);
	mt_buffer_free(&names);
	if (good) {
		profile.info.peak_unsure = 1;
		out->count = s->count;
		out->from_summary = true;
		out->recording = mt_recording_of(&profile, &symbols);
		return true;
	}
	mt_symbols_free(&symbols);
	mt_profile_free(&profile);
	return false;
}

bool mt_set_summary_read(struct mt_set_summary *s, struct mt_set_opened *out)
{
	struct mt_err ignored = {0};
	uint64_t bytes;
	int fd = s ? mt_cache_directory_open(s->directory, s->name, &bytes) : -1;
	int copy = fd >= 0 ? dup(fd) : -1;
	struct mt_trace_reader *reader =
		fd >= 0 ? mt_trace_reader_open_fd(fd, s->name, &ignored) : NULL;
	bool good = reader && take(s, reader, out);

	if (good && copy >= 0)
		mt_cache_directory_note_use(copy);
	if (copy >= 0)
		close(copy);
	mt_trace_reader_free(reader);
	return good;
}

static int write_all(const struct mt_set_summary *s, struct mt_trace_writer *writer,
	struct mt_profile *p, const struct mt_symbols *symbols, const struct mt_family *members)
{
	struct mt_definitions definitions = {0};
	struct mt_buffer block = {0}, names = {0};
	struct mt_err ignored = {0};
	uint64_t file_bytes = p->info.file_bytes;

	encode(&block, s, p, members);
	mt_symbols_encode(symbols, &names);
	int error = mt_definitions_write(&definitions, writer, p, &ignored);

	if (!error)
		error = mt_trace_writer_block(writer, MT_BLOCK_MEMBERS, block.data, block.len,
			&ignored);
	if (!error)
		error = mt_trace_write_end(writer, p, &names, &ignored);
	p->info.file_bytes = file_bytes;
	mt_buffer_free(&block);
	mt_buffer_free(&names);
	return error;
}

/* A write beyond a limit would be a signal. Columns and what was left out have no place in the
 * file. */
static bool can_be_kept(const struct mt_profile *p)
{
	struct rlimit limit;

	return !p->column_count && !p->late && !getrlimit(RLIMIT_FSIZE, &limit)
		&& limit.rlim_cur == RLIM_INFINITY;
}

void mt_set_summary_write(struct mt_set_summary *s, struct mt_profile *p,
	const struct mt_symbols *symbols, const struct mt_family *members)
{
	struct mt_err ignored = {0};
	char *aside = NULL;
	int fd = s && can_be_kept(p) ? mt_cache_directory_begin(s->directory, s->name, &aside) : -1;

	if (fd < 0)
		return;
	struct mt_trace_writer *writer = mt_trace_writer_new(fd, &ignored);
	bool whole = writer && !write_all(s, writer, p, symbols, members);

	mt_trace_writer_free(writer);
	mt_cache_directory_end(s->directory, aside, s->name, whole);
	free(aside);
}
