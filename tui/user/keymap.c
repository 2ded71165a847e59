#include "tui/user/keymap.h"
#include "core/base/nearest.h"
#include "tui/app.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Valid in every view. A view's own keys come before those of GENERAL. */
#define EVERYWHERE \
	(1u << MT_SCOPE_MOVE | 1u << MT_SCOPE_FOLD | 1u << MT_SCOPE_VIEWS | 1u << MT_SCOPE_FIND \
		| 1u << MT_SCOPE_LIVE | 1u << MT_SCOPE_OUT | 1u << MT_SCOPE_APP)
#define GENERAL (EVERYWHERE | 1u << MT_SCOPE_COLUMNS)

/* The terminal has one keyboard, and the program one map of it. */
static struct {
	struct mt_binding *items;
	uint32_t count, capacity;
} map;

static void insert(uint32_t at, struct mt_binding binding)
{
	MT_GROW(map.items, map.count, map.capacity);
	memmove(map.items + at + 1, map.items + at, (map.count - at) * sizeof *map.items);
	map.items[at] = binding;
	map.count++;
}

static void take_out(uint32_t at)
{
	map.count--;
	memmove(map.items + at, map.items + at + 1, (map.count - at) * sizeof *map.items);
}

void mt_keymap_reset(void)
{
	map.count = 0;
	for (int i = 0; i < MT_ACTION_COUNT; i++) {
		const struct mt_action_info *info = mt_action_info((enum mt_action)i);

		for (const char *key = info->keys; *key;) {
			size_t len = strcspn(key, " ");

			insert(map.count,
				(struct mt_binding){info->scope, mt_key_parse(key, len),
					(enum mt_action)i, 0});
			key += len + (key[len] == ' ');
		}
	}
}

const struct mt_binding *mt_keymap_at(uint32_t index)
{
	if (!map.count)
		mt_keymap_reset();
	return index < map.count ? &map.items[index] : NULL;
}

/* How much a binding is preferred: the view's own keys, then the user's. */
static int worth(const struct mt_binding *b)
{
	return (GENERAL & 1u << b->scope ? 0 : 2) + (b->line ? 1 : 0);
}

enum mt_action mt_keys_action(uint32_t code, uint32_t scopes)
{
	const struct mt_binding *b, *best = NULL;

	for (uint32_t i = 0; (b = mt_keymap_at(i)); i++)
		if (b->code == code && scopes & 1u << b->scope && (!best || worth(b) > worth(best)))
			best = b;
	return best ? best->action : MT_ACTION_NONE;
}

const char *mt_action_key(enum mt_action action, char out[16])
{
	const struct mt_binding *b, *best = NULL;

	for (uint32_t i = 0; (b = mt_keymap_at(i)); i++)
		if (b->action == action
			&& (!best
				|| (best->scope != mt_action_info(action)->scope
					&& b->scope == mt_action_info(action)->scope)))
			best = b;
	out[0] = '\0';
	return best ? mt_key_name(best->code, out) : out;
}

const char *mt_keymap_keys(enum mt_action action, char out[64])
{
	const struct mt_binding *b;
	size_t len = 0;
	char key[16];

	out[0] = '\0';
	for (uint32_t i = 0; (b = mt_keymap_at(i)); i++)
		if (b->action == action && len + 20 < 64)
			len += (size_t)snprintf(out + len, 64 - len, "%s%s", len ? " " : "",
				mt_key_name(b->code, key));
	return out;
}

/* As words name it, where a key is meant; "": there is no such action. */
static const char *key_of(const char *name, size_t len, char out[16])
{
	char id[32];

	for (int i = 0; i < MT_ACTION_COUNT; i++)
		if (strlen(mt_action_id((enum mt_action)i, id)) == len && !memcmp(id, name, len))
			return *mt_action_key((enum mt_action)i, out)
				? out
				: mt_action_info((enum mt_action)i)->name;
	return "";
}

const char *mt_keymap_words(char *out, size_t len, const char *words)
{
	size_t used = 0;
	char key[16];

	while (*words && used + 1 < len) {
		const char *end = *words == '{' ? strchr(words, '}') : NULL;
		const char *name = end ? key_of(words + 1, (size_t)(end - words - 1), key) : "";

		if (!*name) {
			out[used++] = *words++;
			continue;
		}
		for (; *name && used + 2 < len; name++) {
			if (*name == '%')
				out[used++] = '%';
			out[used++] = *name;
		}
		words = end + 1;
	}
	out[used] = '\0';
	return out;
}

/* ---- the user's file ---- */

#define NAMES_MAX 160
struct names {
	char item[NAMES_MAX][32];
};
_Static_assert(MT_ACTION_COUNT < NAMES_MAX && MT_SCOPE_COUNT < NAMES_MAX, "the last name is empty");

static const char *name_at(const void *context, int i)
{
	const char *name = ((const struct names *)context)->item[i];

	return *name ? name : NULL;
}

/* The number of a name, or -1 with a fault that tells the nearest. */
static int number_of(const struct names *names, const char *name, const char *what,
	struct mt_faults *faults, const char *file, uint32_t line)
{
	const char *nearest;

	for (int i = 0; name_at(names, i); i++)
		if (!strcmp(names->item[i], name))
			return i;
	nearest = mt_nearest(name, name_at, names);
	mt_faults_add(faults, file, line, "unknown %s '%.40s'; %s%s%s", what, name,
		nearest ? "did you mean '" : "expected one that ",
		nearest ? nearest : "'memtui help keys' lists", nearest ? "'?" : "");
	return -1;
}

static int find_scope(const char *name, struct mt_faults *faults, const char *file, uint32_t line)
{
	struct names names = {0};

	for (int i = 0; i < MT_SCOPE_COUNT; i++)
		mt_scope_id((enum mt_scope)i, names.item[i]);
	return number_of(&names, name, "scope", faults, file, line);
}

static int find_action(const char *name, struct mt_faults *faults, const char *file, uint32_t line)
{
	struct names names = {0};

	for (int i = 0; i < MT_ACTION_COUNT; i++)
		mt_action_id((enum mt_action)i, names.item[i]);
	return number_of(&names, name, "action", faults, file, line);
}

static uint32_t find_binding(enum mt_scope scope, uint32_t code)
{
	for (uint32_t i = 0; i < map.count; i++)
		if (map.items[i].scope == scope && map.items[i].code == code)
			return i;
	return UINT32_MAX;
}

static void bind(enum mt_scope scope, uint32_t code, enum mt_action action, uint32_t line)
{
	uint32_t at = find_binding(scope, code), first = 0;

	if (at != UINT32_MAX)
		take_out(at);
	while (first < map.count && map.items[first].action < action)
		first++;
	insert(first, (struct mt_binding){scope, code, action, line});
}

/* One line's words. */
static void take(char *const *words, int count, const char *file, uint32_t line,
	struct mt_faults *faults)
{
	bool binds = !strcmp(words[0], "bind");
	int scope, action = 0;
	uint32_t code, at;
	char key[16];

	if (!binds && strcmp(words[0], "unbind")) {
		mt_faults_add(faults, file, line,
			"invalid line '%.40s'; expected 'bind SCOPE KEY ACTION' or "
			"'unbind SCOPE KEY'",
			words[0]);
		return;
	}
	if (count != (binds ? 4 : 3)) {
		mt_faults_add(faults, file, line, "%s takes %d words, not %d; expected '%s'",
			words[0], binds ? 3 : 2, count - 1,
			binds ? "bind SCOPE KEY ACTION" : "unbind SCOPE KEY");
		return;
	}
	if ((scope = find_scope(words[1], faults, file, line)) < 0)
		return;
	code = mt_key_parse(words[2], strlen(words[2]));
	if (code == MT_KEY_UNKNOWN) {
		mt_faults_add(faults, file, line,
			"invalid key '%.40s'; expected a character, ^X, F1 to F12, %s", words[2],
			MT_KEY_NAMES);
		return;
	}
	if (binds && (action = find_action(words[3], faults, file, line)) < 0)
		return;
	at = find_binding((enum mt_scope)scope, code);
	if (binds && at != UINT32_MAX && map.items[at].line
		&& map.items[at].action != (enum mt_action)action)
		mt_faults_add(faults, file, line,
			"%s was bound in %s by line %u already; this line wins",
			mt_key_name(code, key), words[1], map.items[at].line);
	if (binds)
		bind((enum mt_scope)scope, code, (enum mt_action)action, line);
	else if (at != UINT32_MAX)
		take_out(at);
	else
		mt_faults_add(faults, file, line,
			"%s has no action in %s; 'memtui help keys' lists the keys", words[2],
			words[1]);
}

void mt_keymap_read(const char *file_name, char *text, struct mt_faults *faults)
{
	uint32_t number = 0;

	mt_keymap_at(0);
	while (text && *text) {
		char *line = strsep(&text, "\n"), *words[5], *word;
		int count = 0;

		number++;
		while ((word = strsep(&line, " \t\r")) && *word != '#')
			if (*word && count < 5)
				words[count++] = word;
		if (count)
			take(words, count, file_name, number, faults);
	}
}

int mt_keymap_load(const char *path, struct mt_faults *faults, struct mt_err *err)
{
	char *own = path ? NULL : mt_user_config("keys"), *text;
	int code;

	if (!path && !own)
		return 0;
	code = mt_user_read(path ? path : own, &text, err);
	if (!code)
		mt_keymap_read(path ? path : own, text, faults);
	else if (code == -ENOENT && !path)
		code = 0;
	free(text);
	free(own);
	return code;
}

/* ---- conflicts ---- */

/* A view in which both scopes are valid; NULL: none. */
static const char *common_view(enum mt_scope a, enum mt_scope b)
{
	uint32_t both = 1u << a | 1u << b;

	if (!(both & ~EVERYWHERE))
		return "all views";
	for (int id = 0; id < MT_VIEW_COUNT; id++)
		if (!(both & ~(EVERYWHERE | mt_app_view((enum mt_view_id)id)->scopes)))
			return mt_app_view((enum mt_view_id)id)->name;
	return NULL;
}

/* Whether one of them is meant to come first: a view's own key. */
static bool meant(const struct mt_binding *a, const struct mt_binding *b)
{
	return !a->line && !b->line && worth(a) != worth(b);
}

static void tell_conflict(struct mt_buffer *out, const struct mt_binding *a,
	const struct mt_binding *b, const char *where)
{
	const struct mt_binding *wins = worth(b) > worth(a) ? b : a, *loses = wins == a ? b : a;
	char key[16], names[4][32];

	mt_buffer_printf(out, "%s in %s: %s (%s%s) wins over %s (%s%s)", mt_key_name(a->code, key),
		where, mt_action_id(wins->action, names[0]), mt_scope_id(wins->scope, names[1]),
		wins->line ? ", yours" : "", mt_action_id(loses->action, names[2]),
		mt_scope_id(loses->scope, names[3]), loses->line ? ", yours" : "");
	if (a->line || b->line)
		mt_buffer_printf(out, ", line %u", a->line > b->line ? a->line : b->line);
	mt_buffer_printf(out, "\n");
}

uint32_t mt_keymap_conflicts(struct mt_buffer *out)
{
	uint32_t count = 0;

	mt_keymap_at(0);
	for (uint32_t i = 0; i < map.count; i++)
		for (uint32_t j = i + 1; j < map.count; j++) {
			const struct mt_binding *a = &map.items[i], *b = &map.items[j];
			const char *where = a->code == b->code && a->action != b->action
					&& a->scope != b->scope && !meant(a, b)
				? common_view(a->scope, b->scope)
				: NULL;

			if (!where)
				continue;
			tell_conflict(out, a, b, where);
			count++;
		}
	return count;
}
