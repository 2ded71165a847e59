/* The user's key map, and words with the keys of actions in them. Each key of the map has a name
 * that is read as the same key. Input: the file, which is the words, too. */
#include "tests/fuzz/fuzz.h"
#include "tui/app.h"
#include "tui/user/keymap.h"

#include <stdlib.h>
#include <string.h>

/* ---- in place of the screen ---- */

const struct mt_view *mt_app_view(enum mt_view_id id)
{
	static struct mt_view view = {.name = "a view"};

	view.scopes = 1u << id % MT_SCOPE_COUNT;
	return &view;
}

/* ---- the target ---- */

static void check_names(void)
{
	const struct mt_binding *b;
	char name[16];

	for (uint32_t i = 0; (b = mt_keymap_at(i)); i++) {
		mt_key_name(b->code, name);
		if (mt_key_parse(name, strlen(name)) != b->code)
			abort();
	}
}

static void check_conflicts(void)
{
	struct mt_buffer text = {0};
	uint32_t lines = 0;

	for (uint32_t told = mt_keymap_conflicts(&text); told; told = 0) {
		for (size_t i = 0; i < text.len; i++)
			lines += text.data[i] == '\n';
		if (lines != told)
			abort();
	}
	mt_buffer_free(&text);
}

static void ask(void)
{
	char keys[64], key[16];

	for (int action = 0; action < MT_ACTION_COUNT; action++) {
		mt_keymap_keys((enum mt_action)action, keys);
		mt_action_key((enum mt_action)action, key);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *words = malloc(size + 1);
	struct mt_faults faults = {0};
	char first[80];

	memcpy(text, data, size);
	text[size] = '\0';
	mt_keymap_reset();
	mt_keymap_words(words, size + 1, text);
	mt_keymap_read("keys", text, &faults);
	mt_faults_first(&faults, first, sizeof first);
	check_names();
	check_conflicts();
	ask();
	mt_faults_free(&faults);
	free(words);
	free(text);
	return 0;
}
