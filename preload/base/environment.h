/* Variables of the environment. */
#ifndef MT_ENVIRONMENT_H
#define MT_ENVIRONMENT_H

#include <string.h>

/* The program's environment, or while libc has not set it yet, the one that the kernel has put on
 * the stack. NULL: there is none. */
char **mt_environment(void);
/* The value of a variable, or NULL. */
const char *mt_environment_get(const char *name);
/* The same in another environment than the program's; NULL: in none. */
const char *mt_environment_find(char *const *environment, const char *name);

/* The value, if the entry is one of this name, or NULL. */
static inline const char *mt_environment_value(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=' ? entry + len + 1 : NULL;
}

#endif
