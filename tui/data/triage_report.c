/* The report on the clipboard and in a file, and the suppressions. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/export/report_triage.h"
#include "core/query/suppress.h"
#include "tui/data/triage.h"
#include "tui/terminal/clipboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is told ---- */

/* Leaks first, what is suppressed last; groups come by leaked bytes. */
static int rank(const struct mt_triage_item *item)
{
	static const int ranks[] = {
		[MT_TRIAGE_NEW] = 4,
		[MT_TRIAGE_INVESTIGATING] = 2,
		[MT_TRIAGE_LEAK] = 1,
		[MT_TRIAGE_FIXED] = 3,
		[MT_TRIAGE_SUPPRESSED] = 5,
	};

	return item->came_back ? 0 : item->judgement ? ranks[item->judgement->state] : 4;
}

/* What is marked; or else all that was judged or noted. */
static bool is_told(struct mt_app *app, uint32_t group)
{
	const struct mt_judgement *j = mt_triage_of(app, group);

	if (app->triage->marked_count)
		return mt_triage_is_marked(app, group);
	return j && (app->data.profile.groups[group].live_count || j->state != MT_TRIAGE_NEW);
}

/* Of what passes the filter; what it is marked for leaks or not. */
static uint32_t collect(struct mt_app *app, struct mt_triage_item **items)
{
	struct mt_triage_ui *t = app->triage;
	struct mt_triage_item *told = NULL;
	uint32_t count = 0, capacity = 0, ranked = 0;

	mt_triage_queue(app);
	for (uint32_t i = 0; i < t->leak_count; i++) {
		uint32_t group = t->leaks[i];

		if (!is_told(app, group))
			continue;
		MT_GROW(told, count, capacity);
		told[count++] = (struct mt_triage_item){group, mt_triage_of(app, group),
			t->shown[group] == MT_TRIAGE_CAME_BACK};
	}
	*items = mt_resize(NULL, ((size_t)count + 1) * sizeof **items);
	for (int at = 0; at <= 5; at++)
		for (uint32_t i = 0; i < count; i++)
			if (rank(&told[i]) == at)
				(*items)[ranked++] = told[i];
	free(told);
	return count;
}

static bool make_report(struct mt_app *app, struct mt_buffer *out, uint32_t *told)
{
	struct mt_triage_ui *t = app->triage;
	struct mt_triage_item *items;
	uint32_t count = collect(app, &items);
	struct mt_triage_report report = {&app->data.profile, app->data.symbols, app->data.command,
		app->data.live, items, count, t->groups[MT_TRIAGE_NEW], t->bytes[MT_TRIAGE_NEW]};

	*told = count;
	if (count)
		mt_report_triage(out, &report);
	else
		mt_app_say(app,
			t->marked_count ? "nothing to report: none of the marked groups leaks"
					: "nothing to report: no leak was judged yet; t judges the "
					  "selected group");
	free(items);
	return count > 0;
}

/* Rules for all that is suppressed and leaks here. */
static bool make_rules(struct mt_app *app, struct mt_buffer *out, uint32_t *told)
{
	struct mt_triage_ui *t = app->triage;

	mt_triage_queue(app);
	uint32_t *groups = mt_alloc(((size_t)t->leak_count + 1) * sizeof *groups);

	*told = 0;
	for (uint32_t i = 0; i < t->leak_count; i++)
		if (t->shown[t->leaks[i]] == MT_TRIAGE_SUPPRESSED
			&& !mt_triage_is_by_rule(t, t->leaks[i]))
			groups[(*told)++] = t->leaks[i];
	if (*told)
		mt_suppress_write(out, MT_SUPPRESS_LSAN, &app->data.profile, app->data.symbols,
			groups, *told);
	else
		mt_app_say(app,
			"no rules to write: nothing is suppressed; {judge} "
			"{judge-suppressed} suppresses the selected group");
	free(groups);
	return *told > 0;
}

void mt_triage_copy(struct mt_app *app)
{
	struct mt_buffer text = {0};
	char what[64], groups[MT_NUMBER_OF_LEN];
	uint32_t told;

	if (make_report(app, &text, &told)) {
		snprintf(what, sizeof what, "the report of %s",
			mt_number_of(groups, told, "group"));
		mt_clipboard_copy(app, (const char *)text.data, text.len, what);
	}
	mt_buffer_free(&text);
}

/* ---- the file ---- */

void mt_triage_file_name(struct mt_app *app, char *out, size_t len)
{
	const char *path = app->triage->store ? mt_triage_file(app->triage->store) : NULL;
	const char *command = app->data.command;
	char *name = app->triage->file || !path
		? mt_format("%.*s", command ? (int)strcspn(command, " ") : 0,
			command ? command : "")
		: mt_strdup(path);
	const char *slash = strrchr(name, '/');

	snprintf(out, len, "%s-leaks.md", slash ? slash + 1 : name);
	free(name);
}

static int write_file(const char *path, const struct mt_buffer *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int code = fd < 0 ? -errno : 0;

	if (!code)
		code = mt_write_all(fd, text->data, text->len);
	if (fd >= 0 && close(fd) < 0 && !code)
		code = -errno;
	if (code && fd >= 0)
		unlink(path);
	return code;
}

int mt_triage_write(struct mt_app *app, const char *path, struct mt_err *err)
{
	int code = 0;
	size_t len = strlen(path);
	bool rules = len >= 5 && !strcmp(path + len - 5, ".supp");
	struct mt_buffer text = {0};
	char groups[MT_NUMBER_OF_LEN];
	uint32_t told;

	if (rules ? make_rules(app, &text, &told) : make_report(app, &text, &told)) {
		code = write_file(path, &text);
		if (code)
			mt_fail(err, code, "%.100s cannot be written: %s%s", path, strerror(-code),
				code == -EEXIST ? "; type another name" : "");
		else
			mt_app_say(app, "wrote %s of %s into %.100s", rules ? "rules" : "a report",
				mt_number_of(groups, told, "group"), path);
	}
	mt_buffer_free(&text);
	return code;
}
