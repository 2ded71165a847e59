/* Variables of the environment: one list feeds help, the manual page, and the defaults of run and
 * record. The tracer reads the same names (preload/segment/file_name.c) but MEMTUI_CACHE, which is
 * the recorder's; a test compares. */
#ifndef MT_TUI_ENVIRONMENT_H
#define MT_TUI_ENVIRONMENT_H

#include "tui/command/options.h"

struct mt_variable {
	const char *name, *argument; /* argument as in help */
	const char *option;          /* of run and record that it is the default of; NULL: none */
	const char *words;           /* without a final full stop */
};

const struct mt_variable *mt_environment_at(int i); /* NULL after the last */
extern const char mt_environment_about[];           /* paragraphs, separated by empty lines */
/* Directory of the recorder's cache of names; NULL: it keeps none. Caller frees. */
char *mt_environment_cache(void);
/* Sets what the environment says of the command's options. */
int mt_environment_apply(struct mt_arguments *, const struct mt_command *, struct mt_err *err);

#endif
