/* The outcome of check as JUnit XML, which build servers show: a test case for each limit. UNKNOWN
 * is an error, FAIL a failure; their text is what people read. */
#include "core/export/check_parts.h"
#include "core/export/report_parts.h"

#include <stdlib.h>
#include <string.h>

static void put(FILE *out, const char *text)
{
	mt_text_put(out, MT_TEXT_XML, text);
}

static const char *program_of(const struct mt_profile *p)
{
	const char *command = p->argument_count ? mt_strings_get(&p->strings, p->arguments[0]) : "";
	const char *slash = strrchr(command, '/');

	return slash ? slash + 1 : command;
}

/* The text of the whole report; the caller frees it. */
static char *text_of(const struct mt_report *report, const struct mt_judged *j)
{
	struct mt_report text = *report;
	char *bytes = NULL;
	size_t len;

	text.out = open_memstream(&bytes, &len);
	if (!text.out)
		abort(); /* as where memory runs out elsewhere */
	text.format = MT_FORMAT_TEXT;
	text.width = 0;
	mt_check_text(&text, j);
	fclose(text.out);
	return bytes;
}

static void put_case(const struct mt_report *report, const struct mt_judged *j, int limit,
	const char *text)
{
	const struct mt_profile *p = mt_report_whole(report);
	char most[MT_NUMBER_EXACT_LEN], line[3 * MT_NUMBER_EXACT_LEN];
	FILE *out = report->out;
	const char *element = j->outcomes[limit] == FAIL ? "failure" : "error";

	mt_report_number(most, report, mt_check_unit(limit), j->limits[limit].value);
	fprintf(out, "  <testcase name=\"%s at most %s\" classname=\"memtui.",
		mt_check_heading(limit), most);
	put(out, program_of(p));
	fprintf(out, "\" time=\"%.3f\"", (double)p->info.wall_ns / 1e9);
	if (j->outcomes[limit] == PASS) {
		fputs("/>\n", out);
		return;
	}
	mt_check_limit_words(line, sizeof line, report, j, limit, 0);
	fprintf(out, ">\n    <%s message=\"", element);
	put(out, line);
	fputs("\">", out);
	for (const char *at = text, *end; *at; at = end) { /* lines stay lines */
		end = strchrnul(at, '\n');
		char *one = mt_format("%.*s", (int)(end - at), at);

		put(out, one);
		free(one);
		end += *end == '\n';
		putc('\n', out);
	}
	fprintf(out, "</%s>\n  </testcase>\n", element);
}

void mt_check_junit(const struct mt_report *report, const struct mt_judged *j)
{
	unsigned counts[3] = {0};
	FILE *out = report->out;
	char *text = text_of(report, j);

	for (int i = 0; i < MT_CHECK_COUNT; i++)
		counts[j->outcomes[i]] += j->limits[i].given;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"memtui check\" "
		"tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"0\">\n",
		counts[PASS] + counts[FAIL] + counts[UNKNOWN], counts[FAIL], counts[UNKNOWN]);
	for (int i = 0; i < MT_CHECK_COUNT; i++)
		if (j->limits[i].given)
			put_case(report, j, i, text);
	fputs("</testsuite>\n", out);
	free(text);
}
