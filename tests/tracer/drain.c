/* drain [options] PROGRAM [ARGUMENT...]: the smallest recorder that can be. Runs PROGRAM under the
 * tracer, drains its rings and those of every image it execs, checks each record, and prints totals
 * on stderr or to a file: the instrument to test the tracer alone.
 *
 *   -l FILE    the tracer library          -o FILE   where the report goes
 *   -s print every distinct stack -c check mode: compare each stack with a full walk
 *   -f         stacks of frees too         -d N      depth limit (512)
 *   -r N records per ring (16384) -n N nodes (1048576) -t N threads and rings (256)
 *   -m CLOCK_MONOTONIC -k N die after N records: leave the rings as they are
 *   -z         stop draining for good after the first record, but stay alive
 *   -p         paused: recording is 0      -b       blind: drains without looking, for benchmarks
 *   -u         usable sizes too            -T N      entries in the table of threads (65536)
 *   -e         print every event and mark, one line each, in the order of each ring
 *   -E         the same, each line behind its time: sorted by that, they are in order
 *   -w         a full ring drops           -F      executed programs get the given environment
 *   -a N       sleep once N events are lost until the doorbell rings, before anything is drained
 *   -j         all stands still for a while, the program too, when it first waits for an answer,
 *              and when it first waits for room; what it waits for comes a few looks later. Ends
 *              with 99 when the program had waited for long before. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/rendezvous.h"
#include "core/wire.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define IMAGES_MAX 256

struct totals {
	uint64_t records, allocations, frees, reallocations, restores, bytes, gaps, gap_allocations,
		gap_frees, threads, bad, voids, marks;
	uint64_t kind[MT_FUNCTION_COUNT], free_function[MT_FUNCTION_COUNT];
};

struct ring {
	uint64_t tail, time;
	bool started;
};

struct image {
	struct mt_wire_header *header;
	struct ring *rings;
	uint64_t *node_allocations, *node_bytes;
	struct totals totals;
	pid_t pid;
	int connection;
};

struct recorder {
	struct image images[IMAGES_MAX];
	int count, listener;
	FILE *out;
	uint32_t flags, depth, ring_records, nodes, threads, thread_entries, clock, recording;
	uint64_t die_after, sleep_after;
	bool sleepy, stacks, stall, dead, blind, events, times, jolts, late;
	uint64_t had_room_ns; /* nobody was seen waiting for it then */
};

static void *at(const struct image *image, const struct mt_wire_range *range)
{
	return (uint8_t *)image->header + range->offset;
}

static void bad(struct recorder *r, struct image *image, const char *what, uint64_t value)
{
	if (image->totals.bad++ < 5)
		fprintf(r->out, "BAD %s %lu\n", what, value);
}

/* ---- a machine that stands still ------------------------------------------------------------- */

#define STILL_MS 2500     /* longer than the tracer waits for anything */
#define LATE_NS 100000000 /* too much of the time for which the tracer waits for room */
#define LOOKS 3

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static long switches(pid_t pid)
{
	char path[40], line[128];
	long n = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f)
		&& sscanf(line, "voluntary_ctxt_switches: %ld", &n) < 1)
		;
	if (f)
		fclose(f);
	return n;
}

static void stop(pid_t pid)
{
	siginfo_t info;

	kill(pid, SIGSTOP);
	waitid(P_PID, (id_t)pid, &info, WSTOPPED);
}

/* Until the program, which is stopped, has looked a few times more, or looks no more. */
static void stand_still(pid_t pid, int connection, const uint32_t *waiters)
{
	struct pollfd gone = {.fd = connection, .events = POLLRDHUP};
	long from;

	poll(NULL, 0, STILL_MS);
	from = switches(pid);
	kill(pid, SIGCONT);
	while (switches(pid) < from + LOOKS && poll(&gone, 1, 1) == 0
		&& (!waiters || __atomic_load_n(waiters, __ATOMIC_SEQ_CST)))
		;
}

/* ---- the segment ----------------------------------------------------------------------------- */

static struct mt_wire_range lay_out(uint64_t *end, uint32_t capacity, uint32_t entry)
{
	struct mt_wire_range range = {*end, capacity, entry};

	*end = (*end + (uint64_t)capacity * entry + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE;
	return range;
}

static int make_segment(const struct recorder *r, struct image *image)
{
	int fd = memfd_create("memtui-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint64_t end = 2 * MT_WIRE_PAGE;
	struct mt_wire_header h = {
		.magic = MT_WIRE_MAGIC,
		.version = MT_WIRE_VERSION,
		.header_size = sizeof h,
		.clock = r->clock,
		.flags = r->flags,
		.depth_limit = r->depth,
		.sizes = {r->ring_records, r->threads, r->threads},
		.recording = r->recording,
		.asleep = r->sleepy && r->sleep_after == 0,
	};

	h.modules = lay_out(&end, 4096, sizeof(struct mt_wire_module));
	h.threads = lay_out(&end, r->thread_entries, sizeof(struct mt_wire_thread));
	h.pcs = lay_out(&end, 1 << 20, sizeof(struct mt_wire_pc));
	h.nodes = lay_out(&end, r->nodes, sizeof(struct mt_wire_node));
	h.rings = lay_out(&end, r->threads, sizeof(struct mt_wire_ring));
	h.ring_data = lay_out(&end, r->threads,
		r->ring_records * (uint32_t)sizeof(struct mt_wire_record));
	h.segment_size = end;
	if (fd < 0 || ftruncate(fd, (off_t)end) < 0
		|| fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -1;
	image->header = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (image->header == MAP_FAILED)
		return -1;
	memcpy(image->header, &h, sizeof h);
	*(uint32_t *)((uint8_t *)image->header + MT_WIRE_ALIVE_OFFSET) = (uint32_t)getpid();
	image->rings = calloc(r->threads, sizeof *image->rings);
	image->node_allocations = calloc(r->nodes, sizeof(uint64_t));
	image->node_bytes = calloc(r->nodes, sizeof(uint64_t));
	return fd;
}

static void answer(struct recorder *r, int connection)
{
	struct mt_wire_request request;
	struct mt_wire_reply reply = {MT_WIRE_MAGIC, MT_WIRE_VERSION, 0};
	struct iovec part = {&reply, sizeof reply};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof control,
	};
	struct image *image = &r->images[r->count];
	int fd;

	if (recv(connection, &request, sizeof request, 0) != sizeof request
		|| request.magic != MT_WIRE_MAGIC
		|| memcmp(request.token, TOKEN, MT_WIRE_TOKEN_LEN) != 0 || r->count == IMAGES_MAX)
		return;
	if (r->jolts) {
		stop((pid_t)request.pid);
		stand_still((pid_t)request.pid, connection, NULL);
	}
	fd = make_segment(r, image);
	if (fd < 0)
		return;
	image->pid = (pid_t)request.pid;
	r->count++;
	CMSG_FIRSTHDR(&message)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&message)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&message)->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &fd, sizeof fd);
	sendmsg(connection, &message, MSG_NOSIGNAL);
	close(fd);
}

static void accept_all(struct recorder *r)
{
	int connection;

	while ((connection = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		answer(r, connection);
		close(connection);
	}
}

/* ---- records --------------------------------------------------------------------------------- */

static void check_node(struct recorder *r, struct image *image, uint32_t node)
{
	const struct mt_wire_node *nodes = at(image, &image->header->nodes);
	const struct mt_wire_pc *pcs = at(image, &image->header->pcs);

	if (node >= __atomic_load_n(&image->header->node_count, __ATOMIC_ACQUIRE)) {
		bad(r, image, "node beyond the count", node);
		return;
	}
	for (; node >= MT_NODE_FIRST; node = nodes[node].parent) {
		uint32_t pc = nodes[node].pc;

		if (nodes[node].parent >= node || pc == 0) {
			bad(r, image, "node", node);
			return;
		}
		if (pc >= MT_PC_FIRST
			&& (pc >= image->header->pc_count || pcs[pc].address == 0
				|| (pcs[pc].module != MT_NO_MODULE
					&& pcs[pc].module >= image->header->module_count)))
			bad(r, image, "pc", pc);
		if (image->node_allocations[node])
			return;
	}
}

struct pending {
	uint64_t size, time, pointer, usable, values[MT_MARK_VALUES];
	unsigned count;
	bool has_size, has_time, has_pointer, paused;
};

static void count_allocation(struct recorder *r, struct image *image, uint32_t node, uint64_t size)
{
	const struct mt_wire_node *nodes = at(image, &image->header->nodes);
	uint32_t kind = node < MT_NODE_FIRST ? node : nodes[node].pc;

	check_node(r, image, node);
	image->totals.allocations++;
	image->totals.bytes += size;
	if (kind < MT_FUNCTION_COUNT)
		image->totals.kind[kind]++;
	else if (node != MT_PC_TABLE_FULL)
		bad(r, image, "leaf that is no kind", kind);
	if (node < r->nodes) {
		image->node_allocations[node]++;
		image->node_bytes[node] += size;
	}
}

/* Where the call was made: the file name of the innermost frame's module, "main" for the program
 * itself. */
static const char *caller(const struct image *image, uint32_t node)
{
	const struct mt_wire_node *nodes = at(image, &image->header->nodes);
	const struct mt_wire_pc *pcs = at(image, &image->header->pcs);
	const struct mt_wire_module *modules = at(image, &image->header->modules);
	const char *slash;
	uint32_t module;

	node = node < MT_NODE_FIRST ? node : nodes[node].parent;
	if (node < MT_NODE_FIRST || (module = pcs[nodes[node].pc].module) == MT_NO_MODULE)
		return "-";
	slash = strrchr(modules[module].path, '/');
	return *modules[module].path ? (slash ? slash + 1 : modules[module].path) : "main";
}

static void print_event(struct recorder *r, struct image *image, const struct pending *p,
	uint64_t time, unsigned type, uint32_t node, uint64_t pointer, uint64_t size)
{
	static const char *const types[] = {"VOID", "ALLOC", "FREE", "RELEASE", "REALLOC",
		"RESTORE"};
	static const char *const marks[] = {"THREAD", "GAP", "MAP", "UNMAP", "UNMAP_FAILED", "CALL",
		"USER"};
	const struct mt_wire_node *nodes = at(image, &image->header->nodes);
	uint32_t kind = node < MT_NODE_FIRST ? node : nodes[node].pc;

	if (type == MT_RECORD_MARK && (size == MT_MARK_THREAD || size == MT_MARK_GAP))
		return;
	if (r->times)
		fprintf(r->out, "%lu ", time);
	if (type != MT_RECORD_MARK) {
		fprintf(r->out, "%s %u %lx %lu", types[type], kind, pointer, size);
		if (p->usable)
			fprintf(r->out, " usable=%lu", p->usable);
	} else {
		fprintf(r->out, "%s %u", marks[size], kind);
		if (size == MT_MARK_USER)
			fprintf(r->out, " %.*s", (int)(p->count * sizeof *p->values),
				(const char *)p->values);
		for (unsigned i = 0; i < p->count && size != MT_MARK_USER; i++)
			fprintf(r->out, " %lx", p->values[i]);
	}
	fprintf(r->out, "%s %s\n", p->paused ? " paused" : "", caller(image, node));
}

static void take(struct recorder *r, struct image *image, struct ring *ring, struct pending *p,
	struct mt_wire_record record)
{
	struct totals *t = &image->totals;
	uint32_t node = mt_wire_record_node(&record), field = mt_wire_record_size(&record);
	uint64_t size = p->has_size ? p->size : field;
	unsigned type = mt_wire_record_type(&record);

	if (type == MT_RECORD_EXTEND) {
		if (field == MT_EXTEND_TIME) {
			p->time = record.word0;
			p->has_time = true;
		} else if (field == MT_EXTEND_SIZE) {
			p->size = record.word0;
			p->has_size = true;
		} else if (field == MT_EXTEND_POINTER) {
			p->pointer = record.word0;
			p->has_pointer = true;
		} else if (field == MT_EXTEND_USABLE) {
			p->usable = record.word0;
		} else if (field == MT_EXTEND_PAUSED) {
			p->paused = true;
		} else if (field == MT_EXTEND_VALUE && p->count < MT_MARK_VALUES) {
			p->values[p->count++] = record.word0;
		} else {
			bad(r, image, "extension", field);
		}
		return;
	}
	if (p->has_time && p->time < ring->time)
		bad(r, image, "time goes back by", ring->time - p->time);
	ring->time = p->has_time ? p->time : ring->time + mt_wire_record_delta(&record);
	if (type == MT_RECORD_VOID) {
		t->voids++;
		return;
	}
	if (!ring->started && !(type == MT_RECORD_MARK && field == MT_MARK_THREAD && p->has_time))
		bad(r, image, "ring that does not begin with its thread, type", type);
	ring->started = true;
	if (r->events)
		print_event(r, image, p, ring->time, type, node,
			p->has_pointer ? p->pointer : mt_wire_record_pointer(&record) << 3,
			type == MT_RECORD_MARK ? field : size);
	switch (type) {
	case MT_RECORD_ALLOC: count_allocation(r, image, node, size); break;
	case MT_RECORD_REALLOC:
		t->reallocations++;
		count_allocation(r, image, node, size);
		break;
	case MT_RECORD_RESTORE:
		t->restores++;
		t->frees--;
		break;
	case MT_RECORD_FREE:
	case MT_RECORD_RELEASE: {
		const struct mt_wire_node *nodes = at(image, &image->header->nodes);
		uint32_t kind = node < MT_NODE_FIRST ? node : nodes[node].pc;

		check_node(r, image, node);
		t->frees++;
		if (kind < MT_FUNCTION_COUNT)
			t->free_function[kind]++;
		break;
	}
	case MT_RECORD_MARK:
		if (field == MT_MARK_THREAD) {
			t->threads++;
			if (node >= image->header->thread_count)
				bad(r, image, "thread", node);
		} else if (field == MT_MARK_GAP) {
			t->gaps++;
			t->gap_allocations += p->values[1];
			t->gap_frees += p->values[2];
		} else {
			t->marks++;
			check_node(r, image, node);
		}
	}
	memset(p, 0, sizeof *p);
}

static bool drain_ring(struct recorder *r, struct image *image, uint32_t id)
{
	struct mt_wire_ring *shared = (struct mt_wire_ring *)at(image, &image->header->rings) + id;
	const struct mt_wire_record *data =
		(const struct mt_wire_record *)at(image, &image->header->ring_data)
		+ (uint64_t)id * r->ring_records;
	struct ring *ring = &image->rings[id];
	uint64_t head = __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE);
	struct pending pending = {0};

	if (head == ring->tail)
		return false;
	if (head - ring->tail > r->ring_records)
		bad(r, image, "head", head);
	if (r->blind)
		ring->tail = head;
	for (; ring->tail != head; ring->tail++) {
		take(r, image, ring, &pending, data[ring->tail & (r->ring_records - 1)]);
		image->totals.records++;
	}
	if (r->die_after && image->totals.records >= r->die_after) {
		r->dead = true;
		__atomic_fetch_or((uint32_t *)((uint8_t *)image->header + MT_WIRE_ALIVE_OFFSET),
			FUTEX_OWNER_DIED, __ATOMIC_RELAXED);
	}
	if (!r->dead)
		__atomic_store_n(&shared->tail, ring->tail, __ATOMIC_RELEASE);
	return true;
}

static void drain(struct recorder *r)
{
	for (int i = 0; i < r->count && !r->dead; i++) {
		struct image *image = &r->images[i];
		struct mt_wire_header *h = image->header;
		uint32_t rings = __atomic_load_n(&h->ring_count, __ATOMIC_ACQUIRE);
		bool any = false;

		if (r->stall && image->totals.records)
			continue;
		__atomic_fetch_add(&h->tick, 1, __ATOMIC_RELAXED);
		for (uint32_t id = 0; id < rings && id < r->threads; id++)
			any |= drain_ring(r, image, id);
		if (any && __atomic_load_n(&h->waiters, __ATOMIC_SEQ_CST)) {
			__atomic_fetch_add(&h->room, 1, __ATOMIC_RELEASE);
			syscall(SYS_futex, &h->room, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
		}
	}
}

/* Nothing is drained before the program waits for room. */
static void await_waiter(struct recorder *r)
{
	struct image *image = &r->images[0];
	struct mt_wire_header *h = image->header;
	uint64_t now = now_ns();

	if (r->count == 0 || !__atomic_load_n(&h->waiters, __ATOMIC_SEQ_CST)) {
		r->had_room_ns = now;
		return;
	}
	stop(image->pid);
	r->late = now_ns() - r->had_room_ns > LATE_NS;
	stand_still(image->pid, -1, &h->waiters);
	r->jolts = false;
}

/* Sleeps a millisecond, or until the newest image rings. */
static void rest(struct recorder *r)
{
	struct timespec pause = {0, 1000000};
	struct mt_wire_header *h = r->count ? r->images[r->count - 1].header : NULL;
	uint32_t value;

	if (!h) {
		struct pollfd poll_for = {.fd = r->listener, .events = POLLIN};

		poll(&poll_for, 1, 1);
		return;
	}
	value = __atomic_load_n(&h->doorbell, __ATOMIC_ACQUIRE);
	__atomic_store_n(&h->asleep, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &h->doorbell, FUTEX_WAIT, value, &pause, NULL, 0);
	__atomic_store_n(&h->asleep, 0, __ATOMIC_RELAXED);
}

#define PATIENCE_S 60

/* Sleeps once for long, when it is time for it. With 0 events lost that is from the beginning. */
static void oversleep(struct recorder *r)
{
	struct timespec patience = {PATIENCE_S, 0};
	struct image *image = &r->images[0];
	struct mt_wire_header *h = image->header;
	uint32_t value = 0;

	if (r->count == 0
		|| __atomic_load_n(&h->counters[MT_COUNTER_LOST_FREES], __ATOMIC_RELAXED)
			< r->sleep_after)
		return;
	r->sleepy = false;
	if (r->sleep_after) {
		value = __atomic_load_n(&h->doorbell, __ATOMIC_ACQUIRE);
		__atomic_store_n(&h->asleep, 1, __ATOMIC_SEQ_CST);
	}
	if (syscall(SYS_futex, &h->doorbell, FUTEX_WAIT, value, &patience, NULL, 0) < 0
		&& errno == ETIMEDOUT)
		bad(r, image, "not woken", 0);
	if (__atomic_load_n(&h->asleep, __ATOMIC_RELAXED))
		bad(r, image, "still said to sleep", 0);
	if (r->sleep_after)
		kill(image->pid, SIGTERM);
}

/* ---- the report ------------------------------------------------------------------------------ */

static void print_stacks(struct recorder *r, struct image *image)
{
	const struct mt_wire_node *nodes = at(image, &image->header->nodes);
	const struct mt_wire_pc *pcs = at(image, &image->header->pcs);
	const struct mt_wire_module *modules = at(image, &image->header->modules);

	for (uint32_t node = 0; node < r->nodes && node < image->header->node_count; node++) {
		if (!image->node_allocations[node])
			continue;
		fprintf(r->out, "STACK %lu %lu kind=%u", image->node_allocations[node],
			image->node_bytes[node], nodes[node].pc);
		for (uint32_t n = nodes[node].parent; n; n = nodes[n].parent) {
			const struct mt_wire_pc *pc = &pcs[nodes[n].pc];

			if (n < MT_NODE_FIRST)
				fprintf(r->out, n == MT_PC_CUT ? " CUT" : " FULL");
			else if (pc->module == MT_NO_MODULE)
				fprintf(r->out, " ?+%lx", pc->address);
			else
				fprintf(r->out, " %s+%lx", modules[pc->module].path,
					pc->address - modules[pc->module].bias);
		}
		fprintf(r->out, "\n");
	}
}

static void print_notes(struct recorder *r, const struct image *image)
{
	static const char *const reasons[] = {
#define X(id, name, words) name,
		MT_BLIND_REASONS(X)
#undef X
	};
	const struct mt_wire_blind *note =
		(const void *)((const uint8_t *)image->header + MT_WIRE_BLIND_OFFSET);

	for (int i = 0; i < MT_WIRE_BLIND_PLACES; i++)
		if (note[i].state == MT_WIRE_BLIND_SET && note[i].reason < MT_BLIND_COUNT)
			fprintf(r->out, "BLIND %s: %s, %u\n", reasons[note[i].reason], note[i].path,
				note[i].count);
}

static void report(struct recorder *r, struct image *image)
{
	static const char *const counters[] = {
#define X(id, name, words) #name,
		MT_COUNTERS(X)
#undef X
	};
	const struct totals *t = &image->totals;

	fprintf(r->out,
		"IMAGE pid=%d allocs=%lu frees=%lu reallocs=%lu restores=%lu bytes=%lu records=%lu "
		"bad=%lu threads=%lu gaps=%lu gap_allocs=%lu gap_frees=%lu voids=%lu marks=%lu "
		"nodes=%u pcs=%u modules=%u rings=%u epoch=%u "
		"rule=%u allocator=%lx own=%lx private=%lu mute=%u\n",
		image->pid, t->allocations, t->frees, t->reallocations, t->restores, t->bytes,
		t->records, t->bad, t->threads, t->gaps, t->gap_allocations, t->gap_frees, t->voids,
		t->marks, image->header->node_count, image->header->pc_count,
		image->header->module_count, image->header->ring_count, image->header->epoch,
		image->header->usable_rule, image->header->allocator, image->header->own_allocator,
		image->header->private_bytes, image->header->mute);
	fprintf(r->out, "KINDS");
	for (int i = 0; i < MT_FUNCTION_COUNT; i++)
		fprintf(r->out, " %lu/%lu", t->kind[i], t->free_function[i]);
	fprintf(r->out, "\nCOUNTERS");
	for (int i = 0; i < MT_COUNTER_COUNT; i++)
		fprintf(r->out, " %s=%lu", counters[i], image->header->counters[i]);
	fprintf(r->out, "\n");
	print_notes(r, image);
	if (r->stacks)
		print_stacks(r, image);
}

/* ---- the program ----------------------------------------------------------------------------- */

static int listen_at(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path + 1, name, strlen(name));
	if (fd < 0
		|| bind(fd, (struct sockaddr *)&address,
			   offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))
			< 0
		|| listen(fd, 128) < 0) {
		perror("drain: socket");
		exit(125);
	}
	return fd;
}

static pid_t start(const char *name, const char *library, char **argv)
{
	char session[160];
	pid_t pid = fork();

	if (pid == 0) {
		snprintf(session, sizeof session, "%s:%s", name, TOKEN);
		setenv("MEMTUI_SESSION", session, 1);
		setenv("LD_PRELOAD", library, 1);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	return pid;
}

int main(int argc, char **argv)
{
	static struct recorder r = {
		.depth = 512,
		.ring_records = 16384,
		.nodes = 1 << 20,
		.threads = 256,
		.thread_entries = 65536,
		.recording = 1,
	};
	const char *library = NULL;
	char name[64];
	int option, status = 0;
	pid_t pid;

	r.out = stderr;
	while ((option = getopt(argc, argv, "+l:o:scfd:r:n:t:T:mk:zpbeEuwa:jF")) != -1)
		switch (option) {
		case 'l': library = optarg; break;
		case 'o': r.out = fopen(optarg, "w"); break;
		case 's': r.stacks = true; break;
		case 'c': r.flags |= MT_SEGMENT_CHECK; break;
		case 'f': r.flags |= MT_SEGMENT_FREE_STACKS; break;
		case 'd': r.depth = (uint32_t)atoi(optarg); break;
		case 'r': r.ring_records = (uint32_t)atoi(optarg); break;
		case 'n': r.nodes = (uint32_t)atoi(optarg); break;
		case 't': r.threads = (uint32_t)atoi(optarg); break;
		case 'T': r.thread_entries = (uint32_t)atoi(optarg); break;
		case 'm': r.clock = MT_CLOCK_MONOTONIC; break;
		case 'k': r.die_after = strtoull(optarg, NULL, 10); break;
		case 'z': r.stall = true; break;
		case 'p': r.recording = 0; break;
		case 'b': r.blind = true; break;
		case 'E': r.times = true; /* fall through */
		case 'e': r.events = true; break;
		case 'u': r.flags |= MT_SEGMENT_SLACK; break;
		case 'j': r.jolts = true; break;
		case 'w': r.flags |= MT_SEGMENT_DROP; break;
		case 'F': r.flags |= MT_SEGMENT_NO_FOLLOW; break;
		case 'a':
			r.sleep_after = strtoull(optarg, NULL, 10);
			r.sleepy = true;
			break;
		default: return 125;
		}
	if (!library || optind == argc || !r.out)
		return 125;
	snprintf(name, sizeof name, "memtui-drain-%d", getpid());
	r.listener = listen_at(name);
	pid = start(name, library, argv + optind);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		accept_all(&r);
		if (r.sleepy) {
			oversleep(&r);
			continue;
		}
		if (r.jolts)
			await_waiter(&r);
		else
			drain(&r);
		rest(&r);
	}
	r.stall = false;
	drain(&r);
	for (int i = 0; i < r.count; i++)
		report(&r, &r.images[i]);
	if (r.late)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
