/* The environment of what is executed. The program's own is never written to: where something is to
 * be changed the new program gets a copy of the pointers, and new texts of the variables that
 * change. */
#include <linux/futex.h>

#include "core/rendezvous.h"
#include "preload/base/environment.h"
#include "preload/base/libc.h"
#include "preload/base/sys.h"
#include "preload/base/text.h"
#include "preload/process/exec.h"
#include "preload/segment/file.h"
#include "preload/segment/rendezvous.h"

#define LIBRARY "libmemtui.so"
#define PRELOAD "LD_PRELOAD"
#define OUTPUT "MEMTUI_OUTPUT"
#define ADDED_MAX 6 /* variables that may be added */
#define NAME_ROOM 256

/* What is to become of an environment. */
struct plan {
	size_t count;       /* of entries */
	size_t preload;     /* which is LD_PRELOAD; count: none is */
	const char *loaded; /* its value */
	bool names;         /* the tracer's library stands there, */
	bool first;         /* before all others, */
	bool loads;         /* in a way that can be loaded from here */
	bool session;       /* a session is named, or a file to write to */
	bool other;         /* that is not the one of this process: it is meant for another */
	/* changes: LD_PRELOAD without the tracer's library, but with this in front (NULL: nothing);
	 * and the name of the recording */
	bool rewrite, add;
	const char *library;
};

/* ---- LD_PRELOAD: names with a colon or a space between --------------------------------------- */

static size_t name_length(const char *at)
{
	size_t len = 0;

	while (at[len] && at[len] != ':' && at[len] != ' ')
		len++;
	return len;
}

/* Whether a name is that of a descriptor, /proc/PID/fd/NUMBER. Nobody else loads a library so. */
static bool is_descriptor(const char *name, size_t len)
{
	static const char pattern[] = "/proc/0/fd/0"; /* 0: digits */
	const char *end = name + len;

	for (const char *p = pattern; *p; p++) {
		if (name == end || (*p == '0' ? *name < '0' || *name > '9' : *name != *p))
			return false;
		name++;
		while (*p == '0' && name < end && *name >= '0' && *name <= '9')
			name++;
	}
	return name == end;
}

static bool is_library(const char *name, size_t len)
{
	const size_t own = sizeof LIBRARY - 1;

	return (len >= own && memcmp(name + len - own, LIBRARY, own) == 0
		       && (len == own || name[len - own - 1] == '/'))
		|| is_descriptor(name, len);
}

/* What the dynamic linker is to search for, or to complete, is believed to be there. */
static bool can_be_loaded(const char *name, size_t len)
{
	char path[NAME_ROOM];

	if (*name != '/' || len >= sizeof path)
		return true;
	memcpy(path, name, len);
	path[len] = '\0';
	return strstr(path, "$") || mt_exec_can_load(path, is_descriptor(name, len));
}

static void read_preload(struct plan *p)
{
	bool before = false;

	for (const char *at = p->loaded; *at;) {
		size_t len = name_length(at);

		if (len && !p->names && is_library(at, len)) {
			p->names = true;
			p->first = !before;
			p->loads = can_be_loaded(at, len);
		}
		before |= len > 0;
		at += len + (at[len] != '\0');
	}
}

static char *write_preload(char *to, const struct plan *p)
{
	const char *between = "=";

	to = mt_text_add(to, PRELOAD);
	if (p->library) {
		to = mt_text_add(mt_text_add(to, between), p->library);
		between = ":";
	}
	for (const char *at = p->loaded; *at;) {
		size_t len = name_length(at);

		if (len && !is_library(at, len)) {
			to = mt_text_add(to, between);
			memcpy(to, at, len);
			to += len;
			between = ":";
		}
		at += len + (at[len] != '\0');
	}
	*to = '\0';
	return *between == '=' ? NULL : to;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* The dynamic linker goes by the last LD_PRELOAD that it finds, the tracer by the first
 * MEMTUI_SESSION. */
static void read_environment(struct plan *p, char *const *environment)
{
	const char *own = mt_rendezvous_session(), *value, *session = NULL, *output = NULL;

	*p = (struct plan){.loaded = ""};
	for (; environment && environment[p->count]; p->count++) {
		const char *entry = environment[p->count];

		if (*entry == 'L' && (value = mt_environment_value(entry, PRELOAD))) {
			p->preload = p->count + 1;
			p->loaded = value;
		} else if (*entry != 'M') {
			continue;
		} else if (!session && (value = mt_environment_value(entry, MT_WIRE_ENVIRONMENT))) {
			session = value;
		} else if (!output && (value = mt_environment_value(entry, OUTPUT))) {
			output = value;
		}
	}
	p->preload = p->preload ? p->preload - 1 : p->count;
	p->session = session || (!own && output);
	p->other = session ? !own || strcmp(session, own) != 0 : !own && output && !*output;
	read_preload(p);
}

/* Whether this process is recorded, or was forked by one that is. */
static bool is_recorded(void)
{
	uint32_t phase = mt_load_acquire(&mt_tracer.phase), alive;

	if (phase != MT_PHASE_ATTACHED || !mt_tracer.header)
		return phase == MT_PHASE_CONNECTING;
	alive = mt_load((uint32_t *)((uint8_t *)mt_tracer.header + MT_WIRE_ALIVE_OFFSET));
	return alive && !(alive & FUTEX_OWNER_DIED);
}

/* The library's path, else the recorder's descriptor of it; NULL: neither leads there from the
 * present root. */
static const char *choose_library(char descriptor[MT_RENDEZVOUS_PATH])
{
	if (mt_exec_files.path && mt_exec_can_load(mt_exec_files.path, false))
		return mt_exec_files.path;
	if (mt_rendezvous_library(descriptor) && mt_exec_can_load(descriptor, true))
		return descriptor;
	return NULL;
}

/* Sets the reason where the target has none, but is not recorded either. */
static void decide(struct plan *p, struct mt_exec_target *t, char descriptor[MT_RENDEZVOUS_PATH],
	bool reached)
{
	bool recorded = is_recorded() && !p->other, follow = recorded && !mt_tracer.no_follow;
	bool lacks = !p->session || !p->names;

	p->add = follow && !p->session;
	if (t->refuses) {
		p->rewrite = p->names;
	} else if (follow && (!p->names || !p->first || !p->loads)) {
		p->library = choose_library(descriptor);
		p->rewrite = p->library || p->names;
		if (!p->library && !t->reason)
			t->reason = MT_BLIND_NO_LIBRARY;
	} else if (p->names && !p->loads) {
		p->rewrite = true;
		if (!t->reason)
			t->reason = MT_BLIND_NO_LIBRARY;
	}
	if (recorded && !follow && lacks && !t->reason)
		t->reason = MT_BLIND_ENVIRONMENT;
	if (!reached && !t->reason)
		t->reason = MT_BLIND_UNREACHABLE;
	if (!recorded)
		t->reason = MT_BLIND_NONE;
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* A number of another process is that of a child of vfork which has gone on, unless it is the
 * parent: this is its child, and the memory is in the midst of being used below. */
static bool is_in_use(const struct mt_exec_memory *m, uint32_t pid)
{
	uint32_t user = mt_load(&m->user);

	return user && (user == pid || user == (uint32_t)mt_sys0(SYS_getppid));
}

static uint8_t *take_memory(struct mt_exec *e, uint64_t size)
{
	struct mt_exec_memory *m = &mt_tls.exec;
	uint32_t pid = (uint32_t)mt_sys0(SYS_getpid);

	if (is_in_use(m, pid))
		m = &e->own;
	mt_store(&m->user, pid);
	mt_signal_fence();
	e->memory = m;
	size = (size + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE;
	if (m->size < size) {
		if (m->base)
			mt_sys_unmap(m->base, m->size);
		m->base = mt_sys_map(size);
		m->size = m->base ? size : 0;
	}
	return m->base;
}

void mt_exec_end(struct mt_exec *e)
{
	if (e->memory == &e->own && e->own.base)
		mt_sys_unmap(e->own.base, e->own.size);
	mt_signal_fence();
	if (e->memory)
		mt_store(&e->memory->user, 0);
	e->memory = NULL;
}

void mt_exec_leave(void)
{
	struct mt_exec_memory *m = &mt_tls.exec;

	if (m->base)
		mt_sys_unmap(m->base, m->size);
	*m = (struct mt_exec_memory){0};
}

/* The variables that name the recording. Returns their end. */
static char *write_recording(char *to, char **entries, size_t *count)
{
	const char *session = mt_rendezvous_session();

	entries[(*count)++] = to;
	if (session)
		return mt_text_add(mt_text_add(to, MT_WIRE_ENVIRONMENT "="), session) + 1;
	to = mt_text_add(mt_text_add(to, OUTPUT "="), mt_file_pattern()) + 1;
	return mt_file_write_options(to, entries, count);
}

static size_t recording_room(void)
{
	const char *session = mt_rendezvous_session();

	return 256 + strlen(session ? session : mt_file_pattern());
}

static char *const *copy(struct mt_exec *e, const struct plan *p, char *const *environment)
{
	size_t room = (p->count + ADDED_MAX + 1) * sizeof(char *), count = 0;
	char **entries, *text, *end;

	entries = (char **)take_memory(e,
		room + recording_room() + strlen(p->loaded) + (p->library ? strlen(p->library) : 0)
			+ sizeof PRELOAD + 2);
	if (!entries)
		return NULL;
	text = (char *)entries + room;
	end = p->rewrite ? write_preload(text, p) : NULL;
	for (size_t i = 0; i < p->count; i++)
		if (i != p->preload || !p->rewrite)
			entries[count++] = environment[i];
		else if (end)
			entries[count++] = text;
	if (end && p->preload == p->count)
		entries[count++] = text;
	if (p->add)
		write_recording(end ? end + 1 : text, entries, &count);
	entries[count] = NULL;
	return entries;
}

/* ---- the call -------------------------------------------------------------------------------- */

char *const *mt_exec_begin(struct mt_exec *e, int directory, const char *path, int flags,
	char *const *environment)
{
	char descriptor[MT_RENDEZVOUS_PATH];
	char *const *changed = NULL;
	struct plan p;
	bool reached;

	e->memory = NULL;
	e->own = (struct mt_exec_memory){0};
	e->noted = (struct mt_blind_noted){NULL, false};
	e->target.reason = MT_BLIND_NONE;
	if (mt_load(&mt_tracer.sealed))
		return environment;
	read_environment(&p, environment);
	if (!p.names && !is_recorded())
		return environment;
	reached = mt_rendezvous_is_reached();
	e->target.keeps_path = !p.session || !p.first || !p.loads || !reached;
	mt_exec_look(&e->target, directory, path, flags);
	decide(&p, &e->target, descriptor, reached);
	if (!p.rewrite && !p.add)
		return environment;
	changed = copy(e, &p, environment);
	if (changed)
		return changed;
	if (!e->target.reason && p.add)
		e->target.reason = MT_BLIND_ENVIRONMENT;
	return environment;
}

void mt_exec_note(struct mt_exec *e, uint32_t pid)
{
	if (e->target.reason)
		e->noted = mt_blind_note(e->target.reason, e->target.path,
			pid ? pid : (uint32_t)mt_sys0(SYS_getpid));
}

void mt_exec_failed(const struct mt_exec *e)
{
	mt_blind_take_back(&e->noted);
}
