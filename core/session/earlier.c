/* What a recording that replaces an earlier one of its name takes away: that one's other files. */
#include "core/model/load.h"
#include "core/session/internal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Who a complete trace is of. */
struct owner {
	uint32_t pid, root;
};

static bool look(struct owner *out, const char *path)
{
	struct mt_err ignored = {0};
	struct mt_trace_reader *reader =
		mt_output_is_regular(path) ? mt_trace_reader_open(path, &ignored) : NULL;
	struct mt_profile p;
	bool complete = false;

	if (!reader)
		return false;
	mt_profile_init(&p);
	if (mt_profile_peek(&p, reader, &ignored) == 1 && p.info.ended) {
		*out = (struct owner){p.info.pid, p.info.root};
		complete = true;
	}
	mt_profile_free(&p);
	mt_trace_reader_free(reader);
	return complete;
}

/* Behind the word and a number that stand there; the same place where they do not. */
static const char *behind(const char *at, const char *word)
{
	size_t len = strlen(word);
	size_t digits = strncmp(at, word, len) ? 0 : strspn(at + len, "0123456789");

	return digits ? at + len + digits : at;
}

/* Whether the recorder gave this name, which begins with the root's: ROOT.execN to an image of the
 * root, ROOT.PID, with .N or .execN or both behind it, to one of another process. No copy that
 * somebody keeps is named so: ROOT.1 would be the trace of a process 1. */
static bool is_named_by_us(const char *name, const char *root_name, struct owner of)
{
	char own[16];

	name += strlen(root_name);
	if (of.pid == of.root)
		return *name && !*behind(name, ".exec");
	int width = snprintf(own, sizeof own, ".%u", of.pid);

	return behind(name, ".") == name + width && !strncmp(name, own, (size_t)width)
		&& !*behind(behind(name + width, "."), ".exec");
}

void mt_earlier_list(struct mt_earlier *e, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *directory = slash ? mt_format("%.*s", (int)(name - path), path) : mt_strdup("./");
	struct owner root, other;
	DIR *d = look(&root, path) && root.pid == root.root ? opendir(directory) : NULL;
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		if (strncmp(entry->d_name, name, strlen(name)) || !strcmp(entry->d_name, name))
			continue;
		char *beside = mt_format("%s%s", directory, entry->d_name);

		if (look(&other, beside) && other.root == root.root
			&& is_named_by_us(entry->d_name, name, other)) {
			MT_GROW(e->paths, e->count, e->capacity);
			e->paths[e->count++] = beside;
		} else {
			free(beside);
		}
	}
	if (d)
		closedir(d);
	free(directory);
}

void mt_earlier_remove(const struct mt_earlier *e)
{
	for (uint32_t i = 0; i < e->count; i++)
		unlink(e->paths[i]);
}

void mt_earlier_free(struct mt_earlier *e)
{
	for (uint32_t i = 0; i < e->count; i++)
		free(e->paths[i]);
	free(e->paths);
	*e = (struct mt_earlier){0};
}
