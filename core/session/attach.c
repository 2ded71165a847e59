/* Recording a process that already runs (doc/attach.md). */
#include "core/session/internal.h"

#include <errno.h>

int mt_attach_begin(struct mt_recorder *r, struct mt_err *err)
{
	(void)r;
	return mt_fail(err, -ENOTSUP, "attaching is not built yet");
}

int mt_attach_end(struct mt_recorder *r, struct mt_err *err)
{
	(void)r;
	return mt_fail(err, -ENOTSUP, "attaching is not built yet");
}
