/* A server with 200 call sites whose memory comes and goes, and a slow leak: the note about a
 * session that timed out is lost with one request of forty. */
#include "common.h"

/* of requests, of sessions and of caches; and as many of a few that are there from the start */
#define KINDS 60
#define IN_FLIGHT 8
#define SESSIONS 220 /* of a kind, at the most */
#define CACHED 160
#define SETTINGS 20

typedef void *maker(size_t);

/* ---- 200 call sites ---- */
#define TEN(X, p, t) \
	X(p, t##0) \
	X(p, t##1) \
	X(p, t##2) \
	X(p, t##3) \
	X(p, t##4) \
	X(p, t##5) \
	X(p, t##6) \
	X(p, t##7) \
	X(p, t##8) \
	X(p, t##9)
#define SIXTY(X, p) TEN(X, p, 1) TEN(X, p, 2) TEN(X, p, 3) TEN(X, p, 4) TEN(X, p, 5) TEN(X, p, 6)
#define SITE(prefix, n) \
	static NOINLINE void *prefix##_##n(size_t size) \
	{ \
		return fill(malloc(size), size); \
	}
#define NAME(prefix, n) prefix##_##n,
SIXTY(SITE, request)
SIXTY(SITE, session)
SIXTY(SITE, cache)
TEN(SITE, setting, 1)
TEN(SITE, setting, 2)
static maker *const requests[KINDS] = {SIXTY(NAME, request)};
static maker *const sessions[KINDS] = {SIXTY(NAME, session)};
static maker *const caches[KINDS] = {SIXTY(NAME, cache)};
static maker *const settings[SETTINGS] = {TEN(NAME, setting, 1) TEN(NAME, setting, 2)};

/* ---- what comes and goes ---- */
static void *in_flight[IN_FLIGHT][3];
static void *session[KINDS][SESSIONS];
static unsigned wanted[KINDS]; /* sessions now: up and down at random */
static void *cached[KINDS][CACHED];
static unsigned cache_size[KINDS];
static void *setting[SETTINGS];

static size_t size_of(unsigned kind, unsigned usual)
{
	return usual + kind * 7 + next_random(usual);
}

static NOINLINE void parse_request(unsigned slot)
{
	for (int part = 0; part < 3; part++) {
		unsigned kind = next_random(KINDS);

		free(in_flight[slot][part]);
		in_flight[slot][part] = requests[kind](size_of(kind, 300));
	}
}

static NOINLINE void touch_session(unsigned kind)
{
	unsigned slot = next_random(SESSIONS);

	if (next_random(200) == 0)
		wanted[kind] = SESSIONS / 3 + next_random(SESSIONS * 2 / 3);
	free(session[kind][slot]);
	session[kind][slot] = slot < wanted[kind] ? sessions[kind](size_of(kind, 200)) : NULL;
}

/* Fills up, and then half of it goes. */
static NOINLINE void store_in_cache(unsigned kind)
{
	if (cache_size[kind] == CACHED)
		while (cache_size[kind] > CACHED / 2)
			free(cached[kind][--cache_size[kind]]);
	cached[kind][cache_size[kind]++] = caches[kind](size_of(kind, 150));
}

/* ---- the leak ---- */
struct note {
	char text[84];
	unsigned session;
};
static const char *guilty_function;
static int guilty_line;
static unsigned long leaked;
static struct note *last_note;

static NOINLINE struct note *note_timeout(unsigned number)
{
	guilty_function = __func__;
	guilty_line = __LINE__ + 1;
	struct note *note = malloc(sizeof *note);

	snprintf(note->text, sizeof note->text, "session %u timed out", number);
	note->session = number;
	leaked++;
	return note;
}

static NOINLINE void end_request(unsigned long number)
{
	if (number % 40 == 0)
		last_note = note_timeout((unsigned)number); /* the one before is forgotten */
}

static void serve(unsigned long number)
{
	unsigned kind = next_random(KINDS);

	parse_request(number % IN_FLIGHT);
	touch_session(kind);
	touch_session((kind + 1) % KINDS);
	if (number % 3 == 0)
		store_in_cache(next_random(KINDS));
	end_request(number);
}

static void start(void)
{
	for (unsigned i = 0; i < SETTINGS; i++)
		setting[i] = settings[i](size_of(i, 60000));
	for (unsigned kind = 0; kind < KINDS; kind++) {
		wanted[kind] = SESSIONS / 3 + next_random(SESSIONS * 2 / 3);
		for (unsigned i = 0; i < wanted[kind]; i++)
			session[kind][i] = sessions[kind](size_of(kind, 200));
		for (unsigned i = next_random(CACHED); i > 0; i--)
			store_in_cache(kind);
	}
}

static void give_back(void)
{
	for (unsigned i = 0; i < SETTINGS; i++)
		free(setting[i]);
	for (unsigned slot = 0; slot < IN_FLIGHT; slot++)
		for (int part = 0; part < 3; part++)
			free(in_flight[slot][part]);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		for (unsigned i = 0; i < SESSIONS; i++)
			free(session[kind][i]);
		while (cache_size[kind])
			free(cached[kind][--cache_size[kind]]);
	}
}

int main(int argc, char **argv)
{
	begin(argc, argv, 2000);
	start();
	for (unsigned long done = 0; next_request(done); done++)
		serve(done + 1);
	give_back();
	tell_truth(guilty_function ? guilty_function : "-", __FILE__, guilty_line, leaked,
		leaked * sizeof(struct note));
	return 0;
}
