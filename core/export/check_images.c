/* What a process ran before the program that is judged, as part of the same verdict. */
#include "core/export/blind.h"
#include "core/export/check_parts.h"
#include "core/export/report_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHARES 10 /* shown of a limit */

static const struct {
	const char *name, *heading;
	enum mt_unit unit;
} limits[] = {
#define X(id, name, unit, heading, words) {name, heading, MT_UNIT_##unit},
	MT_CHECK_LIMITS(X)
#undef X
};

const char *mt_check_heading(int limit)
{
	return limits[limit].heading;
}

enum mt_unit mt_check_unit(int limit)
{
	return limits[limit].unit;
}

static bool is_exact(const struct mt_check_value *v)
{
	return v->least == v->seen && v->most == v->seen;
}

/* ---- one after the other --------------------------------------------------------------------- */

static struct mt_check_image *append(struct mt_check_images *images, const char *path)
{
	struct mt_check_image *image;

	MT_GROW(images->items, images->count, images->capacity);
	image = &images->items[images->count++];
	*image = (struct mt_check_image){.path = mt_strdup(path)};
	return image;
}

/* The blind spots, and in text further reasons, while the profile is there to ask. */
static void write_reasons(const struct mt_report *report, const struct mt_judged *j,
	const char *prefix)
{
	bool exact = true;

	if (report->format == MT_FORMAT_JSON) {
		struct mt_json json = {.out = report->out};

		mt_blind_json(&json, mt_report_whole(report));
		return;
	}
	for (int i = 0; i < MT_CHECK_COUNT; i++)
		exact &= mt_check_is_of_leaks(i) || !report->check->limits[i].given
			|| is_exact(&j->values[i]);
	mt_report_blind(report, prefix);
	if (!exact)
		mt_check_reasons(report, j, prefix);
}

int mt_check_images_add(struct mt_check_images *images, const struct mt_report *report,
	struct mt_err *err)
{
	struct mt_report apart = *report;
	struct mt_check_image *image;
	struct mt_judged j;
	size_t len = 0;
	int status = mt_check_measure(&j, report, err);

	if (status >= 0) {
		struct mt_buffer prefix = {0};

		image = append(images, report->path);
		memcpy(image->values, j.values, sizeof image->values);
		image->left_bytes = j.values[MT_CHECK_LEAKED].seen;
		image->left_blocks = j.values[MT_CHECK_LEAKED_COUNT].seen;
		image->allocates = !mt_check_is_empty(report);
		image->blind = mt_check_is_blind(report);
		image->incomplete = mt_check_is_incomplete(report);
		mt_text_add(&prefix, MT_TEXT_LINE, report->path);
		mt_buffer_add(&prefix, ": ", 3);
		apart.out = open_memstream(&image->said, &len);
		if (apart.out)
			write_reasons(&apart, &j, (const char *)prefix.data);
		if (!apart.out || fclose(apart.out))
			status = mt_fail(err, -ENOMEM, "not enough memory");
		mt_buffer_free(&prefix);
	}
	mt_judged_free(&j);
	return status;
}

void mt_check_images_add_unread(struct mt_check_images *images, const char *path, const char *why)
{
	append(images, path)->why = mt_strdup(why);
}

void mt_check_images_free(struct mt_check_images *images)
{
	for (uint32_t i = 0; i < images->count; i++) {
		free(images->items[i].path);
		free(images->items[i].why);
		free(images->items[i].said);
	}
	free(images->items);
	free(images->first_missing);
	*images = (struct mt_check_images){0};
}

/* ---- together -------------------------------------------------------------------------------- */

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* An image runs before the one that follows, but beside the other processes of a set. */
static void add_value(struct mt_check_value *to, const struct mt_check_value *v, int limit,
	bool beside)
{
	uint64_t (*together)(uint64_t, uint64_t) = limit == MT_CHECK_PEAK ? greater : sum;

	to->seen = together(to->seen, v->seen);
	to->least = together(to->least, v->least);
	to->most = beside ? sum(to->most, v->most) : together(to->most, v->most);
}

/* A gate that measured nothing is no gate. Leaks are those of the last program alone. */
static void doubt_empty(struct mt_judged *j, const struct mt_report *report)
{
	const struct mt_check_images *images = report->images;
	bool all_empty = mt_check_is_empty(report), last_empty = all_empty;

	for (uint32_t i = 0; images && i < images->count; i++)
		all_empty &= !images->items[i].allocates;
	for (int i = 0; i < MT_CHECK_COUNT; i++)
		if (mt_check_is_of_leaks(i) ? last_empty : all_empty)
			j->values[i].most = UINT64_MAX;
}

void mt_check_fold(struct mt_judged *j, const struct mt_report *report)
{
	const struct mt_check_images *images = report->images;
	bool unseen = (images && images->missing) || report->unread;

	memcpy(j->own, j->values, sizeof j->own);
	for (uint32_t n = 0; images && n < images->count; n++) {
		const struct mt_check_image *image = &images->items[n];

		unseen |= image->why || image->blind || image->incomplete;
		for (int i = 0; !image->why && i < MT_CHECK_COUNT; i++)
			if (!mt_check_is_of_leaks(i))
				add_value(&j->values[i], &image->values[i], i,
					report->set && mt_set_count(report->set) > 1);
	}
	for (int i = 0; unseen && i < MT_CHECK_COUNT; i++)
		j->values[i].most = UINT64_MAX;
	doubt_empty(j, report);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_path(const struct mt_report *report, const char *path)
{
	mt_text_put(report->out, MT_TEXT_LINE, path);
}

static void put_share(const struct mt_report *report, const struct mt_check_value *v, int limit,
	const char *path)
{
	char text[MT_NUMBER_EXACT_LEN];

	mt_report_number(text, report, limits[limit].unit, v->seen);
	fprintf(report->out, "%23s%s%s in ", "", is_exact(v) ? "" : "~", text);
	put_path(report, path);
	putc('\n', report->out);
}

/* A peak is one program's; what is counted is shared. */
static bool has_share(const struct mt_check_value *v, int limit, uint64_t most)
{
	return limit == MT_CHECK_PEAK ? v->most > most : v->most != 0;
}

void mt_check_say_shares(const struct mt_report *report, const struct mt_judged *j, int limit)
{
	const struct mt_check_images *images = report->images;
	uint32_t shown = 0, more = 0;

	if (!images || !images->count || j->outcomes[limit] == PASS || mt_check_is_of_leaks(limit))
		return;
	for (uint32_t i = 0; i < images->count; i++) {
		const struct mt_check_image *image = &images->items[i];

		if (image->why || !has_share(&image->values[limit], limit, j->limits[limit].value))
			continue;
		if (shown++ < SHARES)
			put_share(report, &image->values[limit], limit, image->path);
		else
			more++;
	}
	if (more)
		fprintf(report->out, "%23sand %u more\n", "", more);
	if (has_share(&j->own[limit], limit, j->limits[limit].value))
		put_share(report, &j->own[limit], limit, report->path);
}

static void list_paths(const struct mt_report *report)
{
	const struct mt_check_images *images = report->images;
	uint32_t judged = 0, shown = 0;
	char programs[MT_NUMBER_OF_LEN];

	for (uint32_t i = 0; i < images->count; i++)
		judged += !images->items[i].why;
	if (!judged)
		return;
	fprintf(report->out, "judged together with %s that the process ran before this one: ",
		mt_number_of(programs, judged, "program"));
	for (uint32_t i = 0; i < images->count && shown < SHARES; i++) {
		if (images->items[i].why)
			continue;
		fputs(shown++ ? ", " : "", report->out);
		put_path(report, images->items[i].path);
	}
	if (shown < judged)
		fprintf(report->out, " and %u more", judged - shown);
	putc('\n', report->out);
}

static void say_left(const struct mt_report *report)
{
	const struct mt_check_images *images = report->images;
	char bytes[MT_NUMBER_EXACT_LEN], blocks[MT_NUMBER_EXACT_LEN];
	uint64_t left_bytes = 0, left_blocks = 0;

	for (uint32_t i = 0; i < images->count; i++) {
		left_bytes = sum(left_bytes, images->items[i].left_bytes);
		left_blocks = sum(left_blocks, images->items[i].left_blocks);
	}
	if (!left_blocks)
		return;
	mt_report_number(bytes, report, MT_UNIT_BYTES, left_bytes);
	mt_report_number(blocks, report, MT_UNIT_COUNT, left_blocks);
	fprintf(report->out,
		"not counted as leaked: %s in %s %s that were live when the process executed the "
		"next program\n",
		bytes, blocks, MT_PLURAL(blocks, "block"));
}

void mt_check_say_images(const struct mt_report *report, const struct mt_judged *j)
{
	const struct mt_check_images *images = report->images;
	bool unread = images && images->missing;

	if (images && images->count) {
		list_paths(report);
		say_left(report);
	}
	for (uint32_t i = 0; images && i < images->count; i++) {
		const struct mt_check_image *image = &images->items[i];

		if (image->said)
			fputs(image->said, report->out);
		unread |= image->why || image->incomplete;
		if (!image->why)
			continue;
		fputs("not judged: ", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, image->why);
		putc('\n', report->out);
	}
	if (images && images->missing) {
		put_path(report, images->first_missing);
		if (images->missing > 1)
			fprintf(report->out, " and %u more traces", images->missing - 1);
		fprintf(report->out,
			": not found: %s of what the process ran before this "
			"one\n",
			images->missing > 1 ? "they are traces" : "it is the trace");
	}
	if (unread && !j->holds)
		fputs("--this-image judges only this trace\n", report->out);
}

bool mt_check_images_are_blind(const struct mt_report *report)
{
	const struct mt_check_images *images = report->images;

	for (uint32_t i = 0; images && i < images->count; i++)
		if (images->items[i].blind)
			return true;
	return false;
}

const char *mt_check_path_of_peak(const struct mt_report *report, const struct mt_judged *j)
{
	const struct mt_check_images *images = report->images;
	const char *path = report->path ? report->path : "TRACE";
	uint64_t largest = j->own[MT_CHECK_PEAK].seen;

	for (uint32_t i = 0; images && i < images->count; i++)
		if (images->items[i].values[MT_CHECK_PEAK].seen > largest) {
			largest = images->items[i].values[MT_CHECK_PEAK].seen;
			path = images->items[i].path;
		}
	return path;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void mt_check_json_value(struct mt_json *json, int limit, const struct mt_check_value *v)
{
	char name[40];

	snprintf(name, sizeof name, "%s", limits[limit].name);
	for (char *c = name; *c; c++)
		if (*c == '_')
			*c = '-';
	mt_json_put_string(json, "name", name);
	mt_json_put_number(json, "value", v->seen);
	mt_json_put_bool(json, "exact", is_exact(v));
}

static void image_json(struct mt_json *json, const struct mt_check_image *image)
{
	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_string(json, "path", image->path);
	mt_json_put_bool(json, "judged", !image->why);
	if (image->why) {
		mt_json_put_string(json, "why", image->why);
	} else {
		mt_json_key(json, "values");
		mt_json_open(json, '[');
		for (int i = 0; i < MT_CHECK_COUNT; i++) {
			if (mt_check_is_of_leaks(i))
				continue;
			mt_json_open(json, '{');
			mt_check_json_value(json, i, &image->values[i]);
			mt_json_close(json, '}');
		}
		mt_json_close(json, ']');
		mt_json_put_number(json, "live_at_exec_size", image->left_bytes);
		mt_json_put_number(json, "live_at_exec_count", image->left_blocks);
		fprintf(json->out, ",%s", image->said);
	}
	mt_json_close(json, '}');
}

/* Absent traces are counted, not listed: how many there were is what a file says. */
void mt_check_json_images(struct mt_json *json, const struct mt_report *report)
{
	const struct mt_check_images *images = report->images;

	mt_json_key(json, "images");
	mt_json_open(json, '[');
	for (uint32_t i = 0; images && i < images->count; i++)
		image_json(json, &images->items[i]);
	mt_json_close(json, ']');
	mt_json_put_number(json, "missing_images", images ? images->missing : 0);
}
