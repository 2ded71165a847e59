/* The tracer's way into a process that already runs, step by step (doc/attach.md). All in one
 * thread: a tracee belongs to it. */
#include "core/session/attachment.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* tid in struct pthread, from the thread pointer on: of glibc since 2.4, of musl since 1.2.0. */
#define GLIBC_THREAD_NUMBER 0x2d0u
#define MUSL_THREAD_NUMBER 0x30u
#define CALL_TRIES 1000
#define CALL_TRY_US 5000
#define PLACE_TRIES 10
#define MARK_NAME 9u /* in mt_attached_mark: the text "memtui" */

/* ---- calls ----------------------------------------------------------------------------------- */

struct call {
	long number; /* of a system call; -1: the function is called */
	uint64_t function;
	const uint64_t *arguments;
};

static int call_once(struct mt_tracee *t, const struct call *c, int64_t *result, struct mt_err *err)
{
	pid_t thread = mt_tracee_borrow(t, 0, MT_ATTACH_BORROW_MS, err);
	uint64_t got = 0;
	int error;

	if (thread < 0)
		return (int)thread;
	if (c->number >= 0)
		return mt_tracee_system_call(t, thread, c->number, c->arguments, result, err);
	error = mt_tracee_call(t, thread, c->function, c->arguments, &got, err);
	*result = (int64_t)got;
	return error;
}

/* A call that a killed recorder has begun may have to end first. */
static int make_call(struct mt_tracee *t, const struct call *c, int64_t *result, struct mt_err *err)
{
	int error;

	for (unsigned tries = 0; tries < CALL_TRIES; tries++) {
		error = call_once(t, c, result, err);
		if (error != -EAGAIN)
			break;
		usleep(CALL_TRY_US);
	}
	return error;
}

int mt_attach_system_call(struct mt_tracee *t, long number, const uint64_t arguments[6],
	uint64_t *result, const char *what, struct mt_err *err)
{
	struct call c = {.number = number, .arguments = arguments};
	int64_t got = 0;
	int error = make_call(t, &c, &got, err);

	if (error)
		return error;
	if (got < 0 && got > -4096)
		return mt_fail(err, (int)got, "cannot %s in the process: %s", what,
			strerror((int)-got));
	*result = (uint64_t)got;
	return 0;
}

int mt_attach_call(struct mt_tracee *t, uint64_t function, int64_t *result, struct mt_err *err)
{
	struct call c = {.number = -1, .function = function, .arguments = (const uint64_t[6]){0}};

	return make_call(t, &c, result, err);
}

/* Anonymous memory that can be read and executed; at 0: anywhere. */
static int map_code(struct mt_tracee *t, uint64_t at, uint64_t size, uint64_t *place,
	struct mt_err *err)
{
	uint64_t flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0);

	return mt_attach_system_call(t, SYS_mmap,
		(const uint64_t[6]){at, size, PROT_READ | PROT_EXEC, flags, (uint64_t)-1, 0}, place,
		"map memory for the tracer", err);
}

/* ---- what the tracer is told ----------------------------------------------------------------- */

static void read_auxiliary(pid_t pid, struct mt_wire_attached *a)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* the last entry stays the end */
	if (read(fd, a->auxiliary, sizeof a->auxiliary - sizeof a->auxiliary[0]) < 0)
		a->auxiliary[0][0] = AT_NULL;
	close(fd);
}

static int find_glibc(struct mt_tracee *t, struct mt_wire_attached *a, struct mt_err *err)
{
	struct mt_tracee_symbol find, number;

	if (mt_tracee_find(t, "libc.so", "_dl_find_object", &find, NULL)
		|| mt_tracee_find(t, "libc.so", "__errno_location", &number, NULL))
		return mt_fail(err, -ENOTSUP,
			"the process uses a glibc older than 2.35, which memtui cannot attach to "
			"yet; start it with 'memtui run' or 'memtui record'");
	a->find_object = find.address;
	a->errno_location = number.address;
	a->thread_number_at = GLIBC_THREAD_NUMBER;
	return 0;
}

/* As the dynamic linker of musl, or in a static program. */
static int find_musl(struct mt_tracee *t, struct mt_wire_attached *a, struct mt_err *err)
{
	static const char *const modules[] = {"ld-musl", "libc.musl", "libc.so", ""};
	struct mt_tracee_symbol number = {0};
	bool is_musl;
	int error;

	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (mt_tracee_find(t, modules[i], "__errno_location", &number, NULL) == 0)
			break;
	if ((error = mt_tracee_stop(t, MT_ATTACH_STOP_MS, err)))
		return error;
	is_musl = mt_tracee_has_number_at(t, MUSL_THREAD_NUMBER);
	mt_tracee_resume(t);
	if (!is_musl)
		return mt_fail(err, -ENOTSUP,
			"the process is linked statically, or with an unknown C library; memtui "
			"attaches to programs with glibc 2.35 or later, or musl 1.2 or later");
	a->errno_location = number.address;
	a->thread_number_at = MUSL_THREAD_NUMBER;
	mt_attach_list_objects(t, a);
	return 0;
}

static int find_libc(struct mt_tracee *t, struct mt_wire_attached *a, struct mt_err *err)
{
	return mt_attach_path(t, "ld-linux", &a->loader_start, &a->loader_end)
		? find_glibc(t, a, err)
		: find_musl(t, a, err);
}

static int tell(struct mt_recorder *r, struct mt_attachment *at, struct mt_tracee *t,
	struct mt_wire_attached *a, struct mt_err *err)
{
	char *session = mt_service_session(r);
	int error;

	*a = (struct mt_wire_attached){
		.magic = MT_WIRE_MAGIC,
		.version = MT_WIRE_VERSION,
		.own_start = at->place,
		.own_end = at->place + at->image.size,
	};
	snprintf(a->session, sizeof a->session, "%s=%s", MT_WIRE_ENVIRONMENT, session);
	free(session);
	read_auxiliary(r->program, a);
	error = find_libc(t, a, err);
	at->thread_number_at = a->thread_number_at;
	return error;
}

/* ---- one module ------------------------------------------------------------------------------ */

/* Where its stubs can lie. */
static int place_stubs(struct mt_tracee *t, const char *path, struct mt_patch_range *module,
	uint64_t *at, struct mt_err *err)
{
	struct mt_patch_range *taken = NULL;
	size_t count;
	int error = mt_tracee_refresh(t, err);

	if (error)
		return error;
	mt_patch_plan_mappings(t, path, module, &taken, &count);
	error = mt_patch_place(at, taken, count, module->low, module->high, MT_ATTACH_STUBS_SIZE,
		err);
	free(taken);
	return error;
}

/* Made before anything is mapped: most programs have none of the functions. */
static int plan_module(struct mt_recorder *r, struct mt_attachment *at, struct mt_tracee *t,
	const struct mt_wire_attached *a, struct mt_attached_module *m, bool is_first,
	struct mt_err *err)
{
	struct mt_patch_plan_options options = {.path = m->path, .compare = true};
	int error = place_stubs(t, m->path, &m->range, &m->stubs, err);

	if (error)
		return error;
	options.hooks = at->place + at->image.parameters + offsetof(struct mt_wire_attached, hooks);
	options.hook_count = a->hook_count;
	options.stubs = m->stubs + MT_ATTACH_STUBS_OFFSET;
	options.set = m->set;
	options.only_hidden = m->only_hidden;
	options.named = r->named;
	options.no_plain_family = !is_first;
	m->plan = mt_patch_plan_new(t, &options, &error, err);
	if (error)
		m->stubs = 0;
	return error;
}

/* Hooks lead to the functions that are found there: first the list has their originals, then the
 * stubs are written; entries follow when all is ready. */
static int write_module(struct mt_attachment *at, struct mt_tracee *t, struct mt_wire_attached *a,
	struct mt_attached_module *m, bool is_first, struct mt_err *err)
{
	int64_t led = 0;
	int error = mt_tracee_write(t, m->stubs, mt_attached_mark, sizeof mt_attached_mark);

	if (error)
		return mt_fail(err, error, "the memory of the process cannot be written");
	if ((error = mt_patch_plan_write_stubs(m->plan, err)))
		return error;
	a->set = m->set;
	a->module_start = m->range.low;
	a->module_end = m->range.high;
	/* musl's libc calls its own free directly for its own blocks */
	a->is_libc = is_first && !strncmp(mt_base_name(m->path), "libc.so", 7) && a->find_object;
	error = mt_tracee_write(t, at->place + at->image.parameters, a,
		offsetof(struct mt_wire_attached, hook_count));
	if (error)
		return mt_fail(err, error, "the memory of the process cannot be written");
	error = mt_attach_call(t, at->place + at->image.lead, &led, err);
	return error ? error : led > 0 ? 0 : mt_fail(err, -EPROTO, "the tracer took no hook");
}

/* The program may map something where the stubs were to lie. */
static int prepare_module(struct mt_recorder *r, struct mt_attachment *at, struct mt_tracee *t,
	struct mt_wire_attached *a, struct mt_attached_module *m, bool is_first, struct mt_err *err)
{
	int error;

	for (unsigned tries = 0; tries < PLACE_TRIES; tries++) {
		error = plan_module(r, at, t, a, m, is_first, err);
		if (error)
			return m->optional || (!is_first && error == -ENOENT) ? 0 : error;
		error = map_code(t, m->stubs, MT_ATTACH_STUBS_SIZE, &m->stubs, err);
		if (!error)
			return write_module(at, t, a, m, is_first, err);
		m->stubs = 0;
		mt_patch_plan_free(m->plan);
		m->plan = NULL;
		if (error != -EEXIST)
			break;
	}
	return error;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static int map_tracer(struct mt_attachment *at, struct mt_tracee *t, struct mt_err *err)
{
	uint64_t done;
	int error = map_code(t, mt_tracee_beside(t), at->image.size, &at->place, err);

	if (error == -EEXIST)
		error = map_code(t, 0, at->image.size, &at->place, err);
	if (!error)
		error = mt_attach_system_call(t, SYS_mprotect,
			(const uint64_t[6]){at->place + at->image.data,
				at->image.size - at->image.data, PROT_READ | PROT_WRITE},
			&done, "protect memory", err);
	if (!error)
		error = mt_attached_image_relocate(&at->image, at->place, err);
	if (error)
		return error;
	error = mt_tracee_write(t, at->place, at->image.bytes, at->image.used);
	return error ? mt_fail(err, error, "the memory of the process cannot be written: %s",
		       strerror(-error))
		     : 0;
}

/* A memfd that the process has made can be had by everybody who may look at the process. */
static int make_segment(struct mt_recorder *r, struct mt_attachment *at, struct mt_tracee *t,
	struct mt_wire_attached *a, struct mt_err *err)
{
	char path[64];
	uint64_t number;
	int fd,
		error = mt_attach_system_call(t, SYS_memfd_create,
			(const uint64_t[6]){at->place + MARK_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING},
			&number, "make memory to share", err);

	if (error)
		return error;
	at->segment = a->segment = (int32_t)number;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)r->program, (int)number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? mt_fail_open(err, path) : mt_offer_attached(r, fd, err);
}

static int begin_tracer(struct mt_attachment *at, struct mt_tracee *t, struct mt_wire_attached *a,
	struct mt_err *err)
{
	uint64_t parameters = at->place + at->image.parameters;
	int64_t result = 0;
	int error = mt_tracee_write(t, parameters, a, sizeof *a);

	if (error)
		return mt_fail(err, error, "the memory of the process cannot be written");
	error = mt_attach_call(t, at->place + at->image.begin, &result, err);
	if (error)
		return error;
	at->segment = -1;
	if (result)
		return mt_fail(err, (int)result, "the tracer could not begin: %s",
			strerror((int)-result));
	error = mt_tracee_read(t, parameters, a, sizeof *a);
	return error || a->hook_count > MT_WIRE_HOOKS_MAX
		? mt_fail(err, -EPROTO, "the tracer lists no hooks")
		: 0;
}

/* While all stand still. */
static int write_entries(struct mt_attachment *at, struct mt_tracee *t, struct mt_err *err)
{
	pid_t thread = 0;
	int error = 0;

	if (!mt_tracee_has_number_at(t, at->thread_number_at))
		return mt_fail(err, -ENOTSUP,
			"the threads of the process cannot be told apart: its C library is of an "
			"unknown kind");
	for (uint32_t i = 0; i < at->module_count && !thread; i++)
		if (at->modules[i].plan)
			thread = mt_patch_plan_inside(at->modules[i].plan);
	if (thread)
		return mt_fail(err, -EAGAIN, "thread %d is at the beginning of a function",
			(int)thread);
	at->written = true;
	for (uint32_t i = 0; i < at->module_count && !error; i++)
		if (at->modules[i].plan)
			error = mt_patch_plan_write_entries(at->modules[i].plan, err);
	return error;
}

static int lead_entries(struct mt_attachment *at, struct mt_tracee *t, struct mt_err *err)
{
	int error;

	for (unsigned tries = 0; tries < 100; tries++) {
		if ((error = mt_tracee_stop(t, MT_ATTACH_STOP_MS, err)))
			return error;
		error = write_entries(at, t, err);
		mt_tracee_resume(t);
		if (error != -EAGAIN)
			return error;
		usleep(1000);
	}
	return error;
}

static void note_patched(struct mt_recorder *r, const char *path)
{
	pthread_mutex_lock(&r->lock);
	mt_carriers_note(r, r->root->header->id, path, NULL);
	pthread_mutex_unlock(&r->lock);
}

static int attach(struct mt_recorder *r, struct mt_attachment *at, struct mt_tracee *t,
	struct mt_err *err)
{
	struct mt_wire_attached *a = mt_alloc(sizeof *a);
	int error = mt_attachment_recover(t, r->program, &at->image, err);

	if (!error)
		error = map_tracer(at, t, err);
	if (!error)
		error = tell(r, at, t, a, err);
	if (!error)
		error = mt_attach_list_modules(r, at, t, a, err);
	if (!error)
		error = make_segment(r, at, t, a, err);
	if (!error)
		error = begin_tracer(at, t, a, err);
	for (uint32_t i = 0; i < at->module_count && !error; i++)
		error = prepare_module(r, at, t, a, &at->modules[i], i == 0, err);
	if (!error)
		error = lead_entries(at, t, err);
	for (uint32_t i = 0; i < at->module_count && !error; i++)
		if (at->modules[i].plan)
			note_patched(r, at->modules[i].path);
	free(a);
	return error;
}

/* The longest time for which one thread stood still. */
static uint64_t longest_stop(const struct mt_tracee *t)
{
	uint32_t count;
	const struct mt_tracee_stop *stops = mt_tracee_stops(t, &count);
	uint64_t most = 0;

	for (uint32_t i = 0; i < count; i++)
		if (stops[i].ns > most)
			most = stops[i].ns;
	return most;
}

/* One attaches to a process at a time, and stays the only one until it has left: what lies in the
 * process is then its, or that of one who was killed. The name goes with its owner. */
static int take_process(struct mt_attachment *at, pid_t pid, struct mt_err *err)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct mt_proc_stat s = {0};
	int len;

	mt_proc_stat(pid, &s);
	len = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "memtui-attached-%d-%llu",
		(int)pid, (unsigned long long)s.start_time);
	at->lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (at->lock < 0)
		return mt_fail(err, -errno, "cannot create a socket: %s", strerror(errno));
	if (bind(at->lock, (struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len))
		== 0)
		return 0;
	return errno == EADDRINUSE
		? mt_fail(err, -EBUSY,
			"another memtui is attaching to process %d, or has attached to it",
			(int)pid)
		: mt_fail(err, -errno, "cannot bind a socket: %s", strerror(errno));
}

int mt_attach_begin(struct mt_recorder *r, struct mt_err *err)
{
	struct mt_attachment *at = mt_alloc(sizeof *at);
	struct mt_tracee *t = NULL;
	struct mt_err ignored;
	int error;

	at->segment = -1;
	error = take_process(at, r->program, err);
	if (!error)
		error = mt_attached_image_read(&at->image, r->launch.attached_library, err);
	if (!error) {
		t = mt_tracee_open(r->program, MT_TRACEE_SECCOMP, err);
		error = t ? mt_attach_check_filters(t, err) : -EPERM;
	}
	if (!error)
		error = mt_tracee_avoid_usual(t, err);
	if (!error)
		error = attach(r, at, t, err);
	if (error && t)
		mt_attachment_remove(at, t, &ignored);
	else if (t)
		r->still_ns = longest_stop(t);
	if (t)
		mt_tracee_close(t);
	if (error)
		mt_attachment_free(at);
	else
		r->attachment = at;
	return error;
}
