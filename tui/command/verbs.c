/* What a command is asked to do by its operand VERB. */
#include "tui/command/commands.h"

#include "core/base/nearest.h"

#include <errno.h>
#include <string.h>

static const char *name_at(const void *verbs, int i)
{
	return ((const struct mt_verb *)verbs)[i].name;
}

int mt_verb_find(const struct mt_verb *verbs, const char *name, struct mt_err *err)
{
	const char *nearest = mt_nearest(name, name_at, verbs);
	struct mt_buffer list = {0};
	int status;

	for (int i = 0; verbs[i].name; i++)
		if (!strcmp(verbs[i].name, name))
			return i;
	for (int i = 0; verbs[i].name; i++)
		mt_buffer_printf(&list, "%s%s", i ? ", " : "", verbs[i].name);
	status = nearest ? mt_fail(err, -EINVAL, "unknown verb '%.60s'; did you mean '%s'? (%s)",
			 name, nearest, (char *)list.data)
			 : mt_fail(err, -EINVAL, "unknown verb '%.60s'; expected %s", name,
				 (char *)list.data);
	mt_buffer_free(&list);
	return status;
}
