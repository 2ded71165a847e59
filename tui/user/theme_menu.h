/* The theme in force: picked from a menu that shows each at once, and read again when its file
 * changes. */
#ifndef MT_TUI_THEME_MENU_H
#define MT_TUI_THEME_MENU_H

#include <stdbool.h>

struct mt_app;

/* name: as given on the command line; NULL: the default. The screen is open and shows it. */
void mt_themes_begin(struct mt_app *, const char *name);
void mt_themes_free(struct mt_app *);
/* readable when a theme's directory changed; -1: nothing to watch */
int mt_themes_fd(const struct mt_app *);
void mt_themes_changed(struct mt_app *);

void mt_themes_open(struct mt_app *);
/* Another one at once; false, with a message: it cannot be. */
bool mt_themes_use(struct mt_app *, const char *name);

#endif
