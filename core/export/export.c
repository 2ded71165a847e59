#include "core/export/export.h"

#include <errno.h>
#include <string.h>

static const struct mt_export_kind kinds[] = {
#define X(name, suffix, metrics, views, binary, needs, words) \
	{#name, suffix, words, MT_EXPORT_##metrics, views, binary, MT_EXPORT_NEEDS_##needs, \
		mt_export_##name},
	MT_EXPORTS(X)
#undef X
};
#define KINDS (int)(sizeof kinds / sizeof *kinds)

const struct mt_export_kind *mt_export_kind_at(int i)
{
	return i < KINDS ? &kinds[i] : NULL;
}

const struct mt_export_kind *mt_export_kind_find(const char *name)
{
	for (int i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

/* ---- views as they are ---- */

static int export_view(const struct mt_report *report, enum mt_format format, struct mt_err *err)
{
	static const struct {
		const char *name;
		int (*report)(const struct mt_report *, struct mt_err *);
	} views[] = {
#define X(name, report) {#name, report},
		MT_EXPORT_VIEWS(X)
#undef X
	};
	struct mt_report as = *report;

	as.format = format;
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (!report->what || !strcmp(report->what, views[i].name))
			return views[i].report(&as, err);
	return mt_fail(err, -EINVAL, "unknown view '%.60s'; choose one of %s", report->what,
		MT_EXPORT_VIEW_CHOICES);
}

int mt_export_json(const struct mt_report *report, struct mt_err *err)
{
	return export_view(report, MT_FORMAT_JSON, err);
}

int mt_export_csv(const struct mt_report *report, struct mt_err *err)
{
	return export_view(report, MT_FORMAT_CSV, err);
}
