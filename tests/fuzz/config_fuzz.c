/* The user's configuration file: a setting that is changed and saved is there when the file is read
 * again, and the others have the values that they had. Input: the editor's new value, up to the
 * first newline; the file. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/home.h"
#include "tui/user/config.h"

#include <stdlib.h>
#include <string.h>

static void expect_same(const struct mt_config *a, const struct mt_config *b)
{
	for (int i = 0; i < MT_SETTING_COUNT; i++)
		if (strcmp(a->value[i], b->value[i]))
			abort();
}

static int load(struct mt_config *c, uint32_t *faults)
{
	struct mt_faults found = {0};
	struct mt_err err = {0};
	char first[80];
	int code;

	mt_config_init(c);
	code = mt_config_load(c, &found, &err);
	if (code && !*err.text)
		abort();
	mt_faults_first(&found, first, sizeof first);
	*faults = found.count;
	mt_faults_free(&found);
	return code;
}

static void save(struct mt_config *c, const char *editor, unsigned step)
{
	struct mt_err err = {0};
	char *path;

	if (mt_config_set(c, MT_SETTING_EDITOR, editor, &err) && !*err.text)
		abort();
	mt_config_step(c, (enum mt_setting)(step % MT_SETTING_COUNT), 1);
	if (mt_config_save(c, &path, &err))
		abort();
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t line = end ? (size_t)(end - data) : size, rest = end ? line + 1 : line;
	struct mt_config config, again;
	uint32_t faults, left;
	char *editor;

	if (size - rest > 60000) /* what is saved has room for more lines */
		return 0;
	editor = malloc(line + 1);
	memcpy(editor, data, line);
	editor[line] = '\0';
	fuzz_home_write("config", data + rest, size - rest);
	if (!load(&config, &faults)) {
		save(&config, editor, (unsigned)size);
		if (load(&again, &left) || left > faults) /* unknown names stay */
			abort();
		expect_same(&config, &again);
	}
	free(editor);
	return 0;
}
