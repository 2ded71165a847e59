/* Sessions of a process that runs already, with an attach that writes what a tracer would: how they
 * begin, are refused, and end, whatever becomes of the process, the front and the recorder. */
#include "core/model/load.h"
#include "core/session/internal.h"
#include "tests/unit/capture_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000

/* ---- the attach ------------------------------------------------------------------------------ */

/* Shared with the recorder. */
static struct attached {
	bool refuses, keeps; /* keeps: something stays in the process at the end */
	_Atomic int begun, ended;
	pid_t ended_for;
} * attached;
static struct fixture tracer; /* in the recorder */

static void map_segment(struct mt_recorder *r, int fd)
{
	struct mt_segment *s = &tracer.segment;
	struct stat file;

	assert_int_equal(fstat(fd, &file), 0);
	s->base = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(s->base != MAP_FAILED);
	s->header = (struct mt_wire_header *)s->base;
	s->threads = s->header->threads;
	s->pcs = s->header->pcs;
	s->nodes = s->header->nodes;
	s->rings = s->header->rings;
	s->ring_data = s->header->ring_data;
	s->sizes = s->header->sizes;
	tracer.clock = r->clock;
}

static void meet_thread(struct mt_recorder *r)
{
	struct mt_wire_header *h = tracer.segment.header;
	struct mt_wire_pc *pc = (void *)mt_segment_entry(&tracer.segment, pcs, MALLOC_NODE);

	*(struct mt_wire_thread *)(void *)mt_segment_entry(&tracer.segment, threads, 0) =
		(struct mt_wire_thread){.tid = (uint32_t)r->program, .name = "main"};
	*pc = (struct mt_wire_pc){.address = 0x401000, .module = MT_NO_MODULE};
	*node_at(&tracer, MALLOC_NODE) = (struct mt_wire_node){.pc = MT_FUNCTION_MALLOC};
	h->ring_count = h->thread_count = 1;
	h->pc_count = h->node_count = MALLOC_NODE + 1;
	__atomic_store_n(&h->state, MT_SEGMENT_ATTACHED, __ATOMIC_RELEASE);
	put(&tracer, 0, mt_wire_record_pack(MT_RECORD_MARK, 0, 0, 0, MT_MARK_THREAD));
	publish(&tracer, 0);
}

/* Two blocks, one of which is freed, and the free of one from before. */
int mt_attach_begin(struct mt_recorder *r, struct mt_err *err)
{
	int fd, copy;

	if (attached->refuses)
		return mt_fail(err, -EPERM, "the process does not want it");
	fd = memfd_create("memtui-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	copy = dup(fd);
	if (mt_offer_attached(r, fd, err) < 0)
		return err->code;
	map_segment(r, copy);
	close(copy);
	meet_thread(r);
	event(&tracer, 0, MT_RECORD_ALLOC, 100, 0x1000, 10);
	event(&tracer, 0, MT_RECORD_ALLOC, 200, 0x2000, 20);
	event(&tracer, 0, MT_RECORD_FREE, 300, 0x9000, 0);
	event(&tracer, 0, MT_RECORD_FREE, 400, 0x1000, 0);
	attached->begun++;
	return 0;
}

/* The process allocates until the tracer is gone. */
int mt_attach_end(struct mt_recorder *r, struct mt_err *err)
{
	event(&tracer, 0, MT_RECORD_ALLOC, 500, 0x3000, 30);
	event(&tracer, 0, MT_RECORD_FREE, 600, 0x9100, 0);
	attached->ended++;
	attached->ended_for = r->program;
	return attached->keeps ? mt_fail(err, -EBUSY, "an entry stays") : 0;
}

/* ---- the process and the session ------------------------------------------------------------- */

struct test {
	char directory[64], output[96], library[4096];
	struct mt_session session;
	struct mt_session_options options;
	struct mt_err err;
	int life[2]; /* the process ends with the status that it reads there */
	pid_t process;
};

static int begin(void **state)
{
	struct test *t = mt_alloc(sizeof *t);
	ssize_t n = readlink("/proc/self/exe", t->library, sizeof t->library - 64);
	char byte;

	assert_true(n > 0);
	*strrchr(t->library, '/') = '\0';
	strcat(t->library, "/../libmemtui.so");
	strcpy(t->directory, "/tmp/memtui-attach-XXXXXX");
	assert_non_null(mkdtemp(t->directory));
	snprintf(t->output, sizeof t->output, "%s/t.dat", t->directory);
	attached = mmap(NULL, sizeof *attached, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	assert_int_equal(pipe(t->life), 0);
	t->process = fork();
	if (!t->process) {
		close(t->life[1]);
		_exit(read(t->life[0], &byte, 1) == 1 ? byte : 1);
	}
	fcntl(t->life[1], F_SETFD, FD_CLOEXEC);
	t->options = (struct mt_session_options){
		.attach = t->process,
		.output = t->output,
		.library = t->library,
	};
	*state = t;
	return 0;
}

/* The process has lived, and ends as it would have. */
static void expect_alive(struct test *t)
{
	int status;

	assert_int_equal(waitpid(t->process, &status, WNOHANG), 0);
	assert_int_equal(write(t->life[1], "\10", 1), 1);
	assert_int_equal(waitpid(t->process, &status, 0), t->process);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 8);
	t->process = 0;
}

static int end(void **state)
{
	struct test *t = *state;
	char *command = mt_format("rm -rf %s", t->directory);

	if (t->process) {
		kill(t->process, SIGKILL);
		waitpid(t->process, NULL, 0);
	}
	close(t->life[0]);
	close(t->life[1]);
	assert_int_equal(system(command), 0);
	munmap(attached, sizeof *attached);
	free(command);
	mt_session_free(&t->session);
	free(t);
	return 0;
}

static void start(struct test *t)
{
	if (mt_session_start(&t->session, &t->options, &t->err) < 0)
		fail_msg("%s", t->err.text);
	assert_int_equal(t->session.program, t->process);
	assert_int_equal(attached->begun, 1);
}

static int finish(struct test *t)
{
	int status;

	t->err = (struct mt_err){0};
	return mt_session_wait(&t->session, &status, &t->err);
}

static struct mt_info read_trace(const struct test *t, bool *complete)
{
	struct mt_profile profile;
	struct mt_info info;
	struct mt_err err = {0};
	struct mt_trace_reader *reader = mt_trace_reader_open(t->output, &err);

	if (!reader)
		fail_msg("%s", err.text);
	mt_profile_init(&profile);
	if (mt_profile_load(&profile, reader, NULL, NULL, &err) < 0)
		fail_msg("%s", err.text);
	*complete = mt_trace_reader_complete(reader);
	info = profile.info;
	mt_profile_free(&profile);
	mt_trace_reader_free(reader);
	return info;
}

/* All events from the attach to the detach are there, or, if the process has ended, to its end. */
static struct mt_info expect_trace(const struct test *t, bool detached)
{
	bool complete;
	struct mt_info info = read_trace(t, &complete);

	assert_true(complete);
	assert_int_equal(info.origin, MT_ORIGIN_ATTACHED);
	assert_int_equal(info.allocations, detached ? 3 : 2);
	assert_int_equal(info.frees, 1);
	assert_int_equal(info.freed_before_attach, detached ? 2 : 1);
	assert_int_equal(info.unknown_frees + info.lost_events + info.invalid_records, 0);
	assert_int_equal(info.leaked_bytes, detached ? 50 : 20);
	assert_int_equal(info.stopped, detached);
	assert_int_equal(mt_info_knows_leaks(&info), !detached);
	assert_int_equal(attached->ended, detached);
	return info;
}

static void expect_detached(struct test *t)
{
	assert_int_equal(finish(t), 0);
	assert_int_equal(t->err.code, 0);
	assert_true(t->session.detached);
	assert_int_equal(attached->ended_for, t->process);
	expect_trace(t, true);
	expect_alive(t);
}

/* ---- how it ends ----------------------------------------------------------------------------- */

static void detaches_when_asked(void **state)
{
	struct test *t = *state;

	start(t);
	assert_int_equal(mt_session_detach(t->session.name, &t->err), 0);
	expect_detached(t);
}

/* Twice, and before anybody waits. */
static void detaches_at_an_interrupt(void **state)
{
	struct test *t = *state;
	sigset_t now;

	start(t);
	raise(SIGINT);
	raise(SIGTERM);
	expect_detached(t);
	sigprocmask(SIG_BLOCK, NULL, &now);
	assert_false(sigismember(&now, SIGINT) || sigismember(&now, SIGTERM));
}

static void detaches_when_its_time_is_over(void **state)
{
	struct test *t = *state;

	t->options.duration_ns = 20000000;
	start(t);
	expect_detached(t);
}

static void says_what_stays(void **state)
{
	struct test *t = *state;

	attached->keeps = true;
	start(t);
	assert_int_equal(mt_session_detach(t->session.name, &t->err), -EBUSY);
	assert_string_equal(t->err.text, "an entry stays");
	assert_int_equal(finish(t), 0);
	assert_string_equal(t->err.text, "an entry stays");
	assert_true(t->session.detached);
	expect_trace(t, true);
	expect_alive(t);
}

static void ends_with_the_process(void **state)
{
	struct test *t = *state;
	struct mt_info info;

	start(t);
	assert_int_equal(write(t->life[1], "\7", 1), 1);
	assert_int_equal(finish(t), 0);
	assert_int_equal(t->err.code, 0);
	assert_false(t->session.detached);
	info = expect_trace(t, false);
	/* it is a zombie, whose status who may look into it sees */
	assert_int_equal(info.exit_status, 7 << 8);
}

static void outlives_the_front(void **state)
{
	struct test *t = *state;
	char name[sizeof t->session.name];
	int told[2], patience = PATIENCE_MS;
	bool complete = false;

	assert_int_equal(pipe(told), 0);
	if (!fork()) {
		start(t);
		_exit(write(told[1], t->session.name, sizeof name) != sizeof name);
	}
	assert_int_equal(read(told[0], name, sizeof name), sizeof name);
	wait(NULL);
	assert_int_equal(mt_session_detach(name, &t->err), 0);
	while (!complete && patience--) {
		poll(NULL, 0, 1);
		read_trace(t, &complete);
	}
	expect_trace(t, true);
	expect_alive(t);
	close(told[0]);
	close(told[1]);
}

static void survives_the_recorder(void **state)
{
	struct test *t = *state;

	start(t);
	kill(t->session.recorder, SIGKILL);
	assert_int_equal(finish(t), 1);
	assert_non_null(strstr(t->err.text, "the recorder was killed"));
	expect_alive(t);
}

/* ---- how it does not begin ------------------------------------------------------------------- */

static void refuse(struct test *t, const char *words)
{
	sigset_t now;

	t->err = (struct mt_err){0};
	assert_true(mt_session_start(&t->session, &t->options, &t->err) < 0);
	if (!strstr(t->err.text, words))
		fail_msg("'%s' instead of '%s'", t->err.text, words);
	sigprocmask(SIG_BLOCK, NULL, &now);
	assert_false(sigismember(&now, SIGINT));
}

static void refuses_in_words(void **state)
{
	struct test *t = *state;
	struct stat file;
	FILE *old;

	attached->refuses = true;
	refuse(t, "the process does not want it");
	assert_int_not_equal(access(t->output, F_OK), 0);
	old = fopen(t->output, "w");
	fputs("older", old);
	fclose(old);
	refuse(t, "exists");
	t->options.force = true;
	refuse(t, "the process does not want it");
	assert_int_equal(stat(t->output, &file), 0);
	assert_int_equal(file.st_size, 5); /* the old one */
	t->options.attach = getpid();
	refuse(t, "is memtui itself");
	t->options.attach = 0x7ffffffe;
	refuse(t, "does not exist");
	expect_alive(t);
}

/* What run began is not ended by it. */
static void detaches_no_other(void **state)
{
	struct test *t = *state;
	const char *argv[] = {"/bin/cat", NULL};
	int status;

	t->options.attach = 0;
	t->options.argv = (char *const *)argv;
	t->options.pty = true;
	if (mt_session_start(&t->session, &t->options, &t->err) < 0)
		fail_msg("%s", t->err.text);
	assert_int_equal(mt_session_detach(t->session.name, &t->err), -EINVAL);
	kill(t->session.program, SIGTERM);
	assert_int_equal(mt_session_wait(&t->session, &status, &t->err), 128 + SIGTERM);
	assert_false(t->session.attached || t->session.detached);
}

int main(void)
{
#define RUNS(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {RUNS(detaches_when_asked),
		RUNS(detaches_at_an_interrupt), RUNS(detaches_when_its_time_is_over),
		RUNS(says_what_stays), RUNS(ends_with_the_process), RUNS(outlives_the_front),
		RUNS(survives_the_recorder), RUNS(refuses_in_words), RUNS(detaches_no_other)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
