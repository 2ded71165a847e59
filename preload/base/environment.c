/* Where the environment is. A program's .preinit_array runs before libc sets environ. */
#include "preload/base/environment.h"

#include <stddef.h>

#define ARGUMENTS_MAX (1l << 30)

extern char **environ;
/* Where the kernel's count of arguments lies; they follow, and behind them the environment. */
extern void *__libc_stack_end __attribute__((weak));

static char **on_stack(void)
{
	const long *count = &__libc_stack_end ? __libc_stack_end : NULL;
	char **arguments;

	if (!count || *count < 0 || *count > ARGUMENTS_MAX)
		return NULL;
	arguments = (char **)(count + 1);
	return arguments[*count] ? NULL : arguments + *count + 1;
}

char **mt_environment(void)
{
	return environ ? environ : on_stack();
}

const char *mt_environment_find(char *const *environment, const char *name)
{
	for (; environment && *environment; environment++) {
		const char *value = mt_environment_value(*environment, name);

		if (value)
			return value;
	}
	return NULL;
}

const char *mt_environment_get(const char *name)
{
	return mt_environment_find(mt_environment(), name);
}
