#include "tui/user/theme_menu.h"
#include "core/base/buffer.h"
#include "tui/app.h"
#include "tui/user/config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

struct mt_themes {
	struct mt_list list;
	char **names;
	char *in_force, *before; /* names, or paths with a slash; before: what Esc goes back to */
	int watch, watched;      /* inotify; the directory's descriptor, or -1 */
	char *file;              /* in that directory; NULL: no theme of a file */
};

/* Editors replace the file as often as they write into it: the directory tells of both. */
static void watch(struct mt_themes *t)
{
	char *path = mt_theme_path(t->in_force), *slash = path ? strrchr(path, '/') : NULL;

	if (t->watched >= 0)
		inotify_rm_watch(t->watch, t->watched);
	free(t->file);
	t->file = NULL;
	t->watched = -1;
	if (t->watch >= 0 && slash) {
		t->file = mt_strdup(slash + 1);
		slash[slash == path] = '\0';
		t->watched = inotify_add_watch(t->watch, path, IN_CLOSE_WRITE | IN_MOVED_TO);
	}
	free(path);
}

void mt_themes_begin(struct mt_app *app, const char *name)
{
	struct mt_themes *t = mt_alloc(sizeof *t);

	t->in_force = mt_strdup(name ? name : "dark");
	t->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	t->watched = -1;
	app->themes = t;
	watch(t);
}

static void free_names(struct mt_themes *t)
{
	for (uint32_t i = 0; i < t->list.count; i++)
		free(t->names[i]);
	free(t->names);
	t->names = NULL;
	t->list = (struct mt_list){0};
}

void mt_themes_free(struct mt_app *app)
{
	struct mt_themes *t = app->themes;

	if (!t)
		return;
	free_names(t);
	free(t->in_force);
	free(t->before);
	free(t->file);
	if (t->watch >= 0)
		close(t->watch);
	free(t);
	app->themes = NULL;
}

static bool show(struct mt_app *app, const char *name)
{
	struct mt_themes *t = app->themes;
	struct mt_err err = {0};

	if (mt_screen_theme(app->screen, name, &err) < 0) {
		mt_app_say(app, "%s", err.text);
		return false;
	}
	if (strcmp(t->in_force, name)) {
		free(t->in_force);
		t->in_force = mt_strdup(name);
		watch(t);
	}
	return true;
}

bool mt_themes_use(struct mt_app *app, const char *name)
{
	return show(app, name);
}

int mt_themes_fd(const struct mt_app *app)
{
	return app->themes && app->themes->file ? app->themes->watch : -1;
}

void mt_themes_changed(struct mt_app *app)
{
	struct mt_themes *t = app->themes;
	char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *event;
	bool changed = false;
	ssize_t n;

	while ((n = read(t->watch, bytes, sizeof bytes)) > 0)
		for (char *at = bytes; at < bytes + n; at += sizeof *event + event->len) {
			event = (const struct inotify_event *)at;
			changed = changed
				|| (event->wd == t->watched && event->len
					&& !strcmp(event->name, t->file));
		}
	if (!changed)
		return;
	app->dirty = true;
	if (show(app, t->in_force))
		mt_app_say(app, "read %s again", t->file);
}

/* ---- the menu ---- */

static void take_names(struct mt_themes *t)
{
	char *all = mt_theme_names("\n"), *rest = all, *name;
	uint32_t capacity = 0;

	free_names(t);
	while (*all && (name = strsep(&rest, "\n"))) {
		MT_GROW(t->names, t->list.count, capacity);
		if (!strcmp(name, t->in_force))
			t->list.selected = t->list.count;
		t->names[t->list.count++] = mt_strdup(name);
	}
	free(all);
}

static void draw_line(struct mt_app *app, struct mt_rect r, uint32_t index, enum mt_role role)
{
	mt_draw(app->screen, r.row, r.column + 2, r.columns - 3, role, app->themes->names[index]);
}

static void draw(struct mt_app *app)
{
	struct mt_list *l = &app->themes->list;
	struct mt_rect r = mt_box_middle(app, (int)l->count, 36);

	mt_box_draw(app, r, "Theme", "Enter keeps it   Esc");
	mt_box_list(app, r, 0, l, draw_line, NULL);
}

static void keep(struct mt_app *app)
{
	mt_overlay_close(app);
	if (!show(app, app->themes->in_force))
		return;
	mt_config_set(app->config, MT_SETTING_THEME, app->themes->in_force, NULL);
	mt_app_say(app, "theme: %s; {setup}, then w, saves it for all programs",
		app->themes->in_force);
}

static void click(struct mt_app *app, uint32_t index)
{
	if (show(app, app->themes->names[index]))
		keep(app);
}

/* The line is another one: it is shown at once. */
static void moved(struct mt_app *app)
{
	const struct mt_themes *t = app->themes;

	if (strcmp(t->in_force, t->names[t->list.selected]))
		show(app, t->names[t->list.selected]);
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	struct mt_themes *t = app->themes;

	if (input->code == MT_KEY_ENTER) {
		keep(app);
	} else if (mt_overlay_closes(input) || input->code == 'q') {
		mt_overlay_close(app);
		show(app, t->before);
	} else if (input->code == 'T') {
		mt_list_select(&t->list, (t->list.selected + 1) % t->list.count);
		moved(app);
	} else if (mt_list_move(&t->list, mt_keys_action(input->code, 1u << MT_SCOPE_MOVE))) {
		moved(app);
	}
}

static struct mt_list *list(struct mt_app *app)
{
	return &app->themes->list;
}

const struct mt_overlay mt_overlay_themes =
	{.draw = draw, .key = key, .list = list, .moved = moved, .click = click};

void mt_themes_open(struct mt_app *app)
{
	struct mt_themes *t = app->themes;

	take_names(t);
	if (!t->list.count) {
		mt_app_say(app,
			"no theme is installed; put NAME.theme into ~/.config/memtui/themes");
		return;
	}
	free(t->before);
	t->before = mt_strdup(t->in_force);
	mt_overlay_open(app, &mt_overlay_themes, NULL);
}
