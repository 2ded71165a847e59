#include "tui/user/restore.h"
#include "core/base/buffer.h"
#include "tui/app.h"
#include "tui/user/config.h"
#include "tui/view/tree_rows.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDS 16384 /* bytes of what was opened and closed by hand */
/* programs of which a view is kept: a program that is built anew has another build-id */
#define KEPT 200

struct mt_restore {
	char *first;  /* lines: the view as options and settings made it */
	bool waiting; /* for the program to be known */
	bool fresh;   /* the saved view is neither used nor changed */
	bool view_given, filter_given, sort_given; /* by options or operands, which win */
};

/* The program itself may not be the first module that is known. */
static char *path_of(const struct mt_app *app)
{
	const struct mt_profile *p = &app->data.profile;
	const struct mt_module *program = NULL;
	char name[8 + 2 * MT_BUILD_ID_MAX + 1] = "view/";

	for (uint32_t i = 0; i < p->module_count; i++)
		if (p->modules[i].start < mt_info_libraries_begin(&p->info)
			&& (!program || p->modules[i].start < program->start))
			program = &p->modules[i];
	if (!program || !program->build_id_len)
		return NULL;
	for (uint32_t i = 0; i < program->build_id_len && i < MT_BUILD_ID_MAX; i++)
		sprintf(name + strlen(name), "%02x", program->build_id[i]);
	return mt_user_state(name);
}

/* ---- lines ---- */

static char *describe(struct mt_app *app)
{
	enum mt_view_id view = app->view < MT_VIEW_TABS ? app->view
		: app->back_count                       ? app->back[app->back_count - 1]
							: MT_VIEW_MAIN;
	char *filter = mt_data_wanted(&app->data), id[32], columns[256], folds[FOLDS], *text;

	/* what was compared is not there the next time */
	if (view >= MT_VIEW_TABS || view == MT_VIEW_DIFF)
		view = MT_VIEW_MAIN;
	mt_chosen_columns_text(&app->columns, &app->data.profile, columns);
	mt_tree_rows_text(&app->tree, folds, sizeof folds);
	text = mt_format(
		"view = %s\npane = %s\nfilter = %s\nsort = %s\norder = %s\ninverted = %s\ncolumns "
		"= %s\nlevel = %u\nfolds = %s\n",
		mt_action_id(mt_app_tab(view), id), app->pane == MT_VIEW_TREE ? "tree" : "groups",
		filter, mt_metric_info(&app->data.profile, app->data.sort)->name,
		app->data.ascending ? "asc" : "desc", app->data.inverted ? "yes" : "no", columns,
		app->tree.level, folds);
	free(filter);
	return text;
}

static void turn_to(struct mt_app *app, const char *name)
{
	char id[32];

	for (int i = 0; i < MT_VIEW_TABS; i++)
		if (mt_app_has(app, (enum mt_view_id)i)
			&& !strcmp(mt_action_id(mt_app_tab((enum mt_view_id)i), id), name))
			mt_app_act(app, mt_app_tab((enum mt_view_id)i));
}

static void use_line(struct mt_app *app, const char *name, const char *value)
{
	const struct mt_restore *r = app->restore;
	struct mt_err err = {0};
	int metric;

	if (!strcmp(name, "view") && !r->view_given) {
		turn_to(app, value);
	} else if (!strcmp(name, "pane")) {
		app->pane = strcmp(value, "tree") ? MT_VIEW_GROUPS : MT_VIEW_TREE;
	} else if (!strcmp(name, "filter") && !r->filter_given) {
		if (mt_data_filter(&app->data, value, &err) < 0)
			mt_data_filter(&app->data, "", &err);
	} else if (!strcmp(name, "sort") && !r->sort_given) {
		metric = mt_metric_find(&app->data.profile, value);
		if (metric >= 0)
			mt_data_sort(&app->data, (enum mt_metric)metric, app->data.ascending);
	} else if (!strcmp(name, "order") && !r->sort_given) {
		mt_data_sort(&app->data, app->data.sort, !strcmp(value, "asc"));
	} else if (!strcmp(name, "inverted") && app->data.inverted != !strcmp(value, "yes")) {
		mt_data_invert(&app->data);
	} else if (!strcmp(name, "columns")) {
		mt_chosen_columns_parse(app, value);
	} else if (!strcmp(name, "level") && isdigit((unsigned char)*value)) {
		app->tree.level = (unsigned)strtoul(value, NULL, 10);
	} else if (!strcmp(name, "folds")) {
		mt_tree_rows_parse(&app->tree, value);
	}
}

static void use(struct mt_app *app, const char *text)
{
	char *copy = mt_strdup(text), *next = copy, *line, *equals;

	while (*next && (line = strsep(&next, "\n"))) {
		equals = strstr(line, " = ");
		if (equals) {
			*equals = '\0';
			use_line(app, line, equals + 3);
		}
		if (!next)
			break;
	}
	free(copy);
	app->dirty = true;
}

/* ---- the beginning and the end ---- */

void mt_restore_begin(struct mt_app *app, const struct mt_ui_options *o)
{
	struct mt_restore *r = app->restore = mt_alloc(sizeof *r);

	r->first = describe(app);
	r->view_given = o->baseline;
	r->filter_given = o->filtered;
	r->sort_given = o->sort;
	r->fresh = o->fresh;
	r->waiting = !o->fresh && mt_config_is(app->config, MT_SETTING_RESTORE, "on");
	mt_restore_try(app);
}

void mt_restore_try(struct mt_app *app)
{
	struct mt_restore *r = app->restore;
	char *path = r && r->waiting ? path_of(app) : NULL, *text = NULL, *before;
	struct mt_err err = {0};

	if (!path)
		return;
	r->waiting = false;
	if (!mt_user_read(path, &text, &err)) {
		before = describe(app);
		use(app, text);
		free(text);
		text = describe(app);
		/* the program may have ended by now, which says more */
		if (strcmp(before, text) && !*app->message)
			mt_app_say(app, "last view restored; {fresh} resets it (always: --fresh)");
		free(before);
	}
	free(text);
	free(path);
}

void mt_restore_give_up(struct mt_app *app)
{
	if (app->restore)
		app->restore->waiting = false;
}

void mt_restore_fresh(struct mt_app *app)
{
	struct mt_restore *r = app->restore;
	bool filter_given = r->filter_given, sort_given = r->sort_given;

	r->filter_given = r->sort_given = false;
	use(app, r->first);
	r->filter_given = filter_given;
	r->sort_given = sort_given;
	mt_app_say(app, "view, filter, order, columns and folds were reset");
}

/* Of more than KEPT views the one that was written longest ago goes. path: of the one that is
 * written now. */
static void forget_oldest(const char *path)
{
	char *directory = mt_strdup(path), *oldest = NULL;
	struct timespec least = {0};
	unsigned count = 0;

	*strrchr(directory, '/') = '\0';
	DIR *listing = opendir(directory);

	for (struct dirent *entry; listing && (entry = readdir(listing));) {
		char *file = mt_format("%s/%s", directory, entry->d_name);
		struct stat status;

		if (lstat(file, &status) < 0 || !S_ISREG(status.st_mode)) {
			free(file);
			continue;
		}
		count++;
		if (oldest
			&& (status.st_mtim.tv_sec > least.tv_sec
				|| (status.st_mtim.tv_sec == least.tv_sec
					&& status.st_mtim.tv_nsec >= least.tv_nsec))) {
			free(file);
			continue;
		}
		free(oldest);
		oldest = file;
		least = status.st_mtim;
	}
	if (oldest && count > KEPT)
		unlink(oldest);
	if (listing)
		closedir(listing);
	free(oldest);
	free(directory);
}

void mt_restore_keep(struct mt_app *app)
{
	struct mt_restore *r = app->restore;
	/* home: a child is seen */
	bool wanted =
		r && !r->fresh && !app->home && mt_config_is(app->config, MT_SETTING_RESTORE, "on");
	char *path = wanted ? path_of(app) : NULL, *text;
	struct mt_err err = {0};

	if (!path)
		return;
	text = describe(app);
	if (!strcmp(text, r->first))
		unlink(path);
	else if (!mt_user_write(path, text, &err)) /* where nothing can be kept, nothing is */
		forget_oldest(path);
	free(text);
	free(path);
}

void mt_restore_free(struct mt_app *app)
{
	if (app->restore)
		free(app->restore->first);
	free(app->restore);
	app->restore = NULL;
}
