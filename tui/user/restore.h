/* What a visit leaves for the next one of the same program, by its build-id: view, filter, order,
 * columns. */
#ifndef MT_TUI_RESTORE_H
#define MT_TUI_RESTORE_H

#include <stdbool.h>

struct mt_app;
struct mt_ui_options;

/* Once the screen is as the options and settings say; remembers that for mt_restore_fresh. */
void mt_restore_begin(struct mt_app *, const struct mt_ui_options *);
/* As soon as it is known which program it is; the user's first key ends the wait. */
void mt_restore_try(struct mt_app *);
void mt_restore_give_up(struct mt_app *);
void mt_restore_fresh(struct mt_app *); /* all as at the beginning */
void mt_restore_keep(struct mt_app *);  /* at the end */
void mt_restore_free(struct mt_app *);

#endif
