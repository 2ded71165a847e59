#include "tui/user/config.h"
#include "core/base/nearest.h"
#include "core/query/pattern.h"
#include "core/query/query.h"
#include "tui/terminal/theme.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define NUMBER_STEPS {50, 100, 200, 250, 500, 1000, 2000, 5000, 10000, 60000}
/* clang-format on */

static const struct mt_setting_info settings[] = {
#define X(id, name, kind, preset, choices, words) \
	{name, preset, choices, words, MT_SETTING_KIND_##kind},
	MT_SETTINGS(X)
#undef X
};

const struct mt_setting_info *mt_setting_info(enum mt_setting id)
{
	return &settings[id];
}

void mt_config_init(struct mt_config *c)
{
	*c = (struct mt_config){0};
	for (int i = 0; i < MT_SETTING_COUNT; i++)
		strcpy(c->value[i], settings[i].preset);
}

bool mt_config_is(const struct mt_config *c, enum mt_setting id, const char *value)
{
	return !strcmp(c->value[id], value);
}

unsigned mt_config_number(const struct mt_config *c, enum mt_setting id)
{
	return (unsigned)strtoul(c->value[id], NULL, 10);
}

/* ---- values ---- */

/* Copies the index-th of "a|b|c"; false: there are fewer. */
static bool choice_at(const char *choices, int index, char out[64])
{
	for (; index > 0 && choices; index--) {
		choices = strchr(choices, '|');
		choices += choices != NULL;
	}
	if (choices)
		snprintf(out, 64, "%.*s", (int)strcspn(choices, "|"), choices);
	return choices;
}

static int check_metric(const char *setting, const char *name, struct mt_err *err)
{
	const char *nearest;

	if (mt_metric_find(NULL, name) >= 0)
		return 0;
	nearest = mt_nearest(name, mt_metric_name_at, NULL);
	return mt_fail(err, -EINVAL, "%s: unknown metric '%.60s'; %s%s%s", setting, name,
		nearest ? "did you mean '" : "expected one that ",
		nearest ? nearest : "'memtui help metrics' lists", nearest ? "'?" : "");
}

static int check_metrics(const char *setting, const char *value, struct mt_err *err)
{
	char copy[256], *next = copy, *name;

	snprintf(copy, sizeof copy, "%s", value);
	while ((name = strsep(&next, " \t,")))
		if (*name && check_metric(setting, name, err) < 0)
			return -EINVAL;
	return 0;
}

static int check_number(const struct mt_setting_info *info, const char *value, struct mt_err *err)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10), least = strtoul(info->choices, NULL, 10);
	unsigned long most = strtoul(strstr(info->choices, "..") + 2, NULL, 10);

	if (!strcmp(value, "auto")
		|| (isdigit((unsigned char)*value) && !*end && number >= least && number <= most))
		return 0;
	return mt_fail(err, -EINVAL, "%s: invalid value '%.60s'; expected %s or auto", info->name,
		value, info->choices);
}

static int check_regex(const char *setting, const char *value, struct mt_err *err)
{
	struct mt_pattern *pattern = *value ? mt_pattern_new(value, setting, err) : NULL;

	mt_pattern_free(pattern);
	return *value && !pattern ? -EINVAL : 0;
}

static int check(const struct mt_setting_info *info, const char *value, struct mt_err *err)
{
	char choice[64];

	switch (info->kind) {
	case MT_SETTING_KIND_CHOICE:
		for (int i = 0; choice_at(info->choices, i, choice); i++)
			if (!strcmp(choice, value))
				return 0;
		return mt_fail(err, -EINVAL, "%s: invalid value '%.60s'; expected %s", info->name,
			value, info->choices);
	case MT_SETTING_KIND_NUMBER: return check_number(info, value, err);
	case MT_SETTING_KIND_METRIC: return check_metric(info->name, value, err);
	case MT_SETTING_KIND_METRICS: return check_metrics(info->name, value, err);
	case MT_SETTING_KIND_THEME: {
		struct mt_theme theme;

		return mt_theme_load(&theme, value, err);
	}
	case MT_SETTING_KIND_REGEX: return check_regex(info->name, value, err);
	case MT_SETTING_KIND_TEXT: break;
	}
	return 0;
}

/* A line of the file must be able to hold the value, which is then without the blanks around it.
 * Returns false if the line would say something else. */
static bool fits_line(char *value)
{
	char *start = value + strspn(value, " \t\r");
	size_t len = strlen(start);

	while (len && strchr(" \t\r", start[len - 1]))
		len--;
	memmove(value, start, len);
	value[len] = '\0';
	for (const char *c = value; *c; c++)
		if (*c == '\n' || (*c == '#' && (c == value || c[-1] == ' ' || c[-1] == '\t')))
			return false;
	return true;
}

int mt_config_set(struct mt_config *c, enum mt_setting id, const char *value, struct mt_err *err)
{
	const struct mt_setting_info *info = &settings[id];
	char copy[sizeof c->value[id]];

	if (strlen(value) >= sizeof copy)
		return mt_fail(err, -EINVAL, "%s: expected at most %zu characters", info->name,
			sizeof copy - 1);
	strcpy(copy, value);
	if (!fits_line(copy))
		return mt_fail(err, -EINVAL,
			"%s: expected one line without #, which begins a comment", info->name);
	if (check(info, copy, err) < 0)
		return -EINVAL;
	strcpy(c->value[id], copy);
	c->given[id] = c->changed[id] = true;
	return 0;
}

/* The text of the index-th value of a setting whose values can be gone through. */
static bool value_at(enum mt_setting id, const char *themes, int index, char out[64])
{
	static const unsigned numbers[] = NUMBER_STEPS;

	switch (settings[id].kind) {
	case MT_SETTING_KIND_CHOICE: return choice_at(settings[id].choices, index, out);
	case MT_SETTING_KIND_THEME: return *themes && choice_at(themes, index, out);
	case MT_SETTING_KIND_METRIC:
		if (index >= MT_METRIC_COUNT)
			return false;
		snprintf(out, 64, "%s", mt_metric_info(NULL, (enum mt_metric)index)->name);
		return true;
	case MT_SETTING_KIND_NUMBER:
		if (index > (int)(sizeof numbers / sizeof *numbers))
			return false;
		snprintf(out, 64, "%u", index ? numbers[index - 1] : 0);
		if (!index)
			strcpy(out, "auto");
		return true;
	default: return false;
	}
}

bool mt_config_step(struct mt_config *c, enum mt_setting id, int by)
{
	char *themes =
		settings[id].kind == MT_SETTING_KIND_THEME ? mt_theme_names("|") : mt_strdup("");
	char value[64];
	int count = 0, at = 0;

	for (; value_at(id, themes, count, value); count++)
		if (!strcmp(value, c->value[id]))
			at = count;
	/* A theme may be damaged: it is passed by. */
	for (int i = 1; i <= count; i++)
		if (value_at(id, themes, ((at + by * i) % count + count) % count, value)
			&& !mt_config_set(c, id, value, NULL))
			break;
	free(themes);
	return count;
}

/* ---- the file ---- */

static const char *name_at(const void *context, int i)
{
	(void)context;
	return i < MT_SETTING_COUNT ? settings[i].name : NULL;
}

static char *trim(char *text)
{
	size_t len = strlen(text += strspn(text, " \t\r"));

	while (len && strchr(" \t\r", text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* Splits a line in place; NULL: it sets nothing. *value NULL: there is no '='. A # begins a comment
 * behind a blank. */
static char *split(char *line, char **value)
{
	char *equals;

	for (char *c = line; *c; c++)
		if (*c == '#' && (c == line || c[-1] == ' ' || c[-1] == '\t'))
			*c-- = '\0';
		else
			continue;
	line = trim(line);
	equals = strchr(line, '=');
	if (equals)
		*equals = '\0';
	*value = equals ? trim(equals + 1) : NULL;
	return *line || equals ? trim(line) : NULL;
}

static int find_setting(const char *name)
{
	for (int i = 0; i < MT_SETTING_COUNT; i++)
		if (!strcmp(settings[i].name, name))
			return i;
	return -1;
}

void mt_config_read(struct mt_config *c, const char *file_name, char *text,
	struct mt_faults *faults)
{
	uint32_t number = 0;

	while (text && *text) {
		char *line = strsep(&text, "\n"), *value, *name = split(line, &value);
		struct mt_err err = {0};
		const char *nearest;
		int id;

		number++;
		if (!name)
			continue;
		id = find_setting(name);
		if (!value) {
			mt_faults_add(faults, file_name, number,
				"invalid line '%.60s'; expected NAME = VALUE", name);
		} else if (id < 0) {
			nearest = mt_nearest(name, name_at, NULL);
			mt_faults_add(faults, file_name, number, "unknown setting '%.60s'; %s%s%s",
				name, nearest ? "did you mean '" : "expected one that ",
				nearest ? nearest : "'memtui help config' lists",
				nearest ? "'?" : "");
		} else if (mt_config_set(c, (enum mt_setting)id, value, &err) < 0) {
			mt_faults_add(faults, file_name, number, "%s", err.text);
		}
	}
}

int mt_config_load(struct mt_config *c, struct mt_faults *faults, struct mt_err *err)
{
	char *path = mt_user_config("config"), *text = NULL;
	int code = path ? mt_user_read(path, &text, err) : -ENOENT;

	if (!code)
		mt_config_read(c, path, text, faults);
	memset(c->changed, 0, sizeof c->changed);
	free(text);
	free(path);
	return code == -ENOENT ? 0 : code;
}

/* Whether a line of the file says something else than it may, or than was chosen since it was
 * read. */
static bool is_outdated(const struct mt_config *c, enum mt_setting id, const char *value)
{
	struct mt_config other = *c;
	struct mt_err ignored = {0};

	return mt_config_set(&other, id, value, &ignored) < 0
		|| (c->changed[id] && !mt_config_is(c, id, value));
}

/* One line of the old file into the new one: with the value that its setting has now, and its
 * comment. */
static void carry(struct mt_buffer *out, const struct mt_config *c, const char *line,
	bool written[MT_SETTING_COUNT])
{
	char *copy = mt_strdup(line), *value, *name = split(copy, &value);
	int id = name && value ? find_setting(name) : -1;
	bool outdated = id >= 0 && is_outdated(c, (enum mt_setting)id, value);
	const char *comment = strstr(line, " #");

	if (id < 0 || (written[id] && outdated))
		mt_buffer_printf(out, "%s%s\n", id < 0 ? "" : "# ", line);
	else if (!outdated)
		mt_buffer_printf(out, "%s\n", line);
	else
		mt_buffer_printf(out, "%s = %s%s\n", settings[id].name, c->value[id],
			comment ? comment : "");
	if (id >= 0)
		written[id] = true;
	free(copy);
}

int mt_config_save(struct mt_config *c, char **path, struct mt_err *err)
{
	bool written[MT_SETTING_COUNT] = {false};
	struct mt_buffer out = {0};
	char *old = NULL, *next;
	int code;

	*path = mt_user_config("config");
	if (!*path)
		return mt_fail(err, -ENOENT,
			"no settings file: HOME and XDG_CONFIG_HOME are not set");
	code = mt_user_read(*path, &old, err);
	if (code && code != -ENOENT)
		return code;
	for (next = old; next && *next;)
		carry(&out, c, strsep(&next, "\n"), written);
	for (int i = 0; i < MT_SETTING_COUNT; i++)
		if (c->changed[i] && !written[i])
			mt_buffer_printf(&out, "%s = %s\n", settings[i].name, c->value[i]);
	code = mt_user_write(*path, out.len ? (const char *)out.data : "", err);
	if (!code)
		memset(c->changed, 0, sizeof c->changed);
	free(old);
	mt_buffer_free(&out);
	return code;
}

void mt_config_print(FILE *out, const struct mt_config *c)
{
	for (int i = 0; i < MT_SETTING_COUNT; i++) {
		const struct mt_setting_info *info = &settings[i];

		fprintf(out, "# %s%s%s\n%s%s =%s%s\n", info->words, info->choices ? ": " : "",
			info->choices ? info->choices : "", c->given[i] ? "" : "# ", info->name,
			*c->value[i] ? " " : "", c->value[i]);
	}
}
