/* The recorder's half of the segment, fed by hand: order across rings, matching, damage. */
#include "core/capture/events.h"
#include "tests/unit/capture_fixture.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void counts_simple(void **state)
{
	struct fixture *f = *state;

	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 10);
	event(f, 0, MT_RECORD_ALLOC, 200, 0x2000, 20);
	event(f, 0, MT_RECORD_FREE, 300, 0x1000, 0);
	const struct mt_info *info = drain(f);

	assert_int_equal(info->allocations, 2);
	assert_int_equal(info->frees, 1);
	assert_int_equal(info->leaked_bytes, 20);
	assert_int_equal(info->peak_bytes, 30);
	assert_int_equal(info->invalid_records, 0);
	assert_int_equal(f->profile.group_count, 1);
	assert_int_equal(ring_at(f, 0)->tail, f->head[0]);
}

/* A frees, B gets the address; B's stamp is too early, or A's free is only below the second
 * heads. */
static void order_across_rings(void **state)
{
	struct fixture *f = *state;

	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 10);
	event(f, 0, MT_RECORD_FREE, 5100, 0x1000, 0);
	event(f, 1, MT_RECORD_ALLOC, 5000, 0x1000, 7);
	event(f, 2, MT_RECORD_FREE, 5000, 0x1000, 0); /* before B's, by its stamp equal */
	event(f, 3, MT_RECORD_ALLOC, 6000, 0x1000, 5);
	const struct mt_info *info = drain(f);

	assert_int_equal(info->implied_frees, 0);
	assert_int_equal(info->unknown_frees, 0);
	assert_int_equal(info->allocations, 3);
	assert_int_equal(info->frees, 2);
	assert_int_equal(info->leaked_bytes, 5);
}

static void counts_ambiguous(void **state)
{
	struct fixture *f = *state;

	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 10);
	event(f, 1, MT_RECORD_ALLOC, 100, 0x2000, 10);
	assert_true(drain(f)->ambiguous > 0);
}

static void implies_frees(void **state)
{
	struct fixture *f = *state;

	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 10);
	event(f, 0, MT_RECORD_ALLOC, 200, 0x1000, 12);
	event(f, 1, MT_RECORD_FREE, 300, 0x9000, 0);
	const struct mt_info *info = drain(f);

	assert_int_equal(info->implied_frees, 1);
	assert_int_equal(info->unknown_frees, 1);
	assert_int_equal(info->lost_events, 1);
	assert_int_equal(info->leaked_bytes, 12);
}

/* A block that nobody saw allocated is one from before, also if a realloc moves it. */
static void counts_from_the_attach_on(void **state)
{
	struct fixture *f = *state;

	f->profile.info.origin = MT_ORIGIN_ATTACHED;
	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 10);
	event(f, 0, MT_RECORD_FREE, 200, 0x2000, 0);
	event(f, 0, MT_RECORD_RELEASE, 300, 0x3000, 0);
	event(f, 0, MT_RECORD_REALLOC, 400, 0x4000, 30);
	event(f, 0, MT_RECORD_FREE, 500, 0x1000, 0);
	const struct mt_info *info = drain(f);

	assert_int_equal(info->freed_before_attach, 2);
	assert_int_equal(info->unknown_frees + info->inherited_frees + info->implied_frees, 0);
	assert_int_equal(info->invalid_records + info->lost_events, 0);
	assert_int_equal(info->allocations, 2);
	assert_int_equal(info->frees, 1);
	assert_int_equal(info->leaked_bytes, 30);
}

static void reallocates(void **state)
{
	struct fixture *f = *state;

	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 10);
	event(f, 0, MT_RECORD_RELEASE, 200, 0x1000, 0);
	event(f, 0, MT_RECORD_REALLOC, 300, 0x2000, 30);
	event(f, 0, MT_RECORD_RELEASE, 400, 0x2000, 0);
	const struct mt_info *info = drain(f);

	assert_int_equal(info->leaked_count, 0);
	event(f, 0, MT_RECORD_RESTORE, 500, 0, 0);
	drain(f);
	assert_int_equal(info->reallocations, 1);
	assert_int_equal(info->allocations, 1);
	assert_int_equal(info->leaked_bytes, 30);
	event(f, 1, MT_RECORD_FREE, 600, 0x2000, 0);
	drain(f);
	assert_int_equal(info->leaked_bytes, 0);
	assert_int_equal(info->unknown_frees, 0);
	event(f, 1, MT_RECORD_RESTORE, 700, 0, 0);
	drain(f);
	assert_int_equal(info->invalid_records, 1);
}

/* A realloc moves a block to the address that another thread has just freed. */
static void reallocates_across_rings(void **state)
{
	struct fixture *f = *state;

	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 10);
	event(f, 1, MT_RECORD_ALLOC, 110, 0x2000, 20);
	event(f, 1, MT_RECORD_RELEASE, 4000, 0x2000, 0);
	event(f, 1, MT_RECORD_REALLOC, 4100, 0x1000, 40);
	event(f, 0, MT_RECORD_RELEASE, 4200, 0x1000, 0);
	event(f, 0, MT_RECORD_REALLOC, 4300, 0x3000, 11);
	const struct mt_info *info = drain(f);

	assert_int_equal(info->implied_frees, 0);
	assert_int_equal(info->reallocations, 2);
	assert_int_equal(info->leaked_bytes, 51);
}

static void extends(void **state)
{
	struct fixture *f = *state;

	event(f, 0, MT_RECORD_ALLOC, 100, 0xff00000000001003ull, 1ull << 40);
	event(f, 0, MT_RECORD_ALLOC, 200, 0x1001, 3);
	event(f, 0, MT_RECORD_ALLOC, 300, 0x8000, MT_SIZE_EXTENDED);
	const struct mt_info *info = drain(f);

	assert_int_equal(info->leaked_bytes, (1ull << 40) + 3 + MT_SIZE_EXTENDED);
	event(f, 0, MT_RECORD_FREE, 400, 0xff00000000001003ull, 0);
	event(f, 0, MT_RECORD_FREE, 500, 0x1001, 0);
	event(f, 0, MT_RECORD_FREE, 600, 0x8000, 0);
	drain(f);
	assert_int_equal(info->leaked_count, 0);
	assert_int_equal(info->invalid_records, 0);
}

static void counts_gaps(void **state)
{
	struct fixture *f = *state;

	extend(f, 0, MT_EXTEND_TIME, f->clock.start + 1000);
	extend(f, 0, MT_EXTEND_VALUE, f->clock.start + 500);
	extend(f, 0, MT_EXTEND_VALUE, 7);
	extend(f, 0, MT_EXTEND_VALUE, 5);
	put(f, 0, mt_wire_record_pack(MT_RECORD_MARK, 0, 0, 0, MT_MARK_GAP));
	publish(f, 0);
	assert_int_equal(drain(f)->lost_events, 12);
}

/* A mark of this kind with a stack of its own leaf. */
static void mark(struct fixture *f, uint32_t ring, uint64_t time, enum mt_mark what,
	enum mt_function_id kind, unsigned count, const uint64_t *values)
{
	uint32_t node = 200 + kind;

	*node_at(f, node) = (struct mt_wire_node){.parent = 0, .pc = kind};
	if (f->segment.header->node_count <= node)
		f->segment.header->node_count = node + 1;
	extend(f, ring, MT_EXTEND_TIME, f->clock.start + time);
	for (unsigned i = 0; i < count; i++)
		extend(f, ring, MT_EXTEND_VALUE, values[i]);
	put(f, ring, mt_wire_record_pack(MT_RECORD_MARK, 0, node, kind, what));
	publish(f, ring);
}
/* clang-format off */
#define VALUES(...) \
	sizeof((const uint64_t[]){__VA_ARGS__}) / 8, (const uint64_t[]) \
	{ \
		__VA_ARGS__ \
	}
/* clang-format on */
#define ANONYMOUS ((uint64_t)(MAP_PRIVATE | MAP_ANONYMOUS) << 32 | PROT_READ)
#define FILE_MAP ((uint64_t)MAP_PRIVATE << 32 | PROT_READ)

static void maps(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;

	mark(f, 0, 100, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x100000, 0x10001, ANONYMOUS, 0));
	mark(f, 0, 200, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x200000, 0x4000, FILE_MAP, 0x1000));
	drain(f);
	assert_int_equal(info->mapped_anonymous_bytes, 0x11000);
	assert_int_equal(info->mapped_file_bytes, 0x4000);
	mark(f, 0, 300, MT_MARK_UNMAP, MT_FUNCTION_MUNMAP, VALUES(0x104000, 0x2000));
	/* another thread has it now */
	mark(f, 1, 400, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x104000, 0x1000, FILE_MAP, 0));
	drain(f);
	assert_int_equal(info->mapped_anonymous_bytes, 0xf000);
	assert_int_equal(info->mapped_file_bytes, 0x5000);
	mark(f, 1, 500, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x200000, 0x1000, ANONYMOUS, 0));
	mark(f, 1, 600, MT_MARK_MAP, MT_FUNCTION_MMAP,
		VALUES(0x200000, 0x1000, ANONYMOUS | (uint64_t)MAP_FIXED << 32, 0));
	drain(f);
	assert_int_equal(info->implied_unmaps, 1);
	assert_int_equal(info->mapped_file_bytes, 0x4000);
	assert_int_equal(info->maps, 5);
	assert_int_equal(info->unmaps, 1);
	assert_int_equal(info->mapped_peak_bytes, 0x15000);
	assert_int_equal(info->allocations, 0);
	assert_int_equal(info->invalid_records, 0);
	assert_int_equal(f->profile.log_count, 6);
	assert_int_equal(f->profile.log[2].type, MT_LOG_UNMAP);
	assert_int_equal(f->profile.log[2].values[1], 0x2000);
	assert_int_equal(f->profile.log[3].thread, 1);
	assert_int_equal(mt_profile_log_function(&f->profile, &f->profile.log[2]),
		MT_FUNCTION_MUNMAP);
}

/* Of a program whose pages are larger than ours. */
static void maps_of_large_pages(void **state)
{
	struct fixture *f = *state;

	f->segment.header->machine = (struct mt_wire_machine){65536, 64, 48, 0, 0};
	mark(f, 0, 100, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x100000, 0x10001, ANONYMOUS, 0));
	mark(f, 0, 200, MT_MARK_UNMAP, MT_FUNCTION_MUNMAP, VALUES(0x110000, 1));
	drain(f);
	assert_int_equal(f->profile.info.mapped_peak_bytes, 0x20000);
	assert_int_equal(f->profile.info.mapped_anonymous_bytes, 0x10000);
}

static void takes_unmaps_back(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;

	mark(f, 0, 100, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x100000, 0x10000, ANONYMOUS, 0));
	mark(f, 0, 150, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x300000, 0x3000, ANONYMOUS, 0));
	mark(f, 0, 200, MT_MARK_UNMAP, MT_FUNCTION_MUNMAP, VALUES(0x102000, 0x1000));
	/* of a signal handler */
	mark(f, 0, 210, MT_MARK_UNMAP, MT_FUNCTION_MUNMAP, VALUES(0x300000, 0x3000));
	mark(f, 0, 300, MT_MARK_UNMAP_FAILED, MT_FUNCTION_MUNMAP, VALUES(0x102000, 0x1000));
	drain(f);
	assert_int_equal(info->mapped_anonymous_bytes, 0x10000);
	assert_int_equal(info->unmaps, 1);
	/* only once */
	mark(f, 0, 400, MT_MARK_UNMAP_FAILED, MT_FUNCTION_MUNMAP, VALUES(0x102000, 0x1000));
	drain(f);
	assert_int_equal(info->invalid_records, 1);
	assert_int_equal(info->mapped_anonymous_bytes, 0x10000);
}

static void remaps(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;

	mark(f, 0, 100, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x100000, 0x1000, FILE_MAP, 0));
	mark(f, 0, 200, MT_MARK_UNMAP, MT_FUNCTION_MREMAP, VALUES(0x100000, 0x1000));
	mark(f, 0, 300, MT_MARK_MAP, MT_FUNCTION_MREMAP,
		VALUES(0x500000, 0x3000, 0x100000, 0x1000));
	drain(f);
	assert_int_equal(info->mapped_file_bytes, 0x3000);
	assert_int_equal(info->mapped_anonymous_bytes, 0);
	/* what was there stays */
	mark(f, 0, 400, MT_MARK_MAP, MT_FUNCTION_MREMAP, VALUES(0x700000, 0x3000, 0x500000, 0));
	drain(f);
	assert_int_equal(info->mapped_file_bytes, 0x6000);
	assert_int_equal(info->maps, 1);
	assert_int_equal(info->unmaps, 0);
	mark(f, 0, 500, MT_MARK_UNMAP, MT_FUNCTION_MREMAP, VALUES(0x900000, 0x1000));
	extend(f, 0, MT_EXTEND_PAUSED, 0);
	/* never recorded */
	mark(f, 0, 600, MT_MARK_MAP, MT_FUNCTION_MREMAP,
		VALUES(0xa00000, 0x1000, 0x900000, 0x1000));
	mark(f, 0, 700, MT_MARK_MAP, MT_FUNCTION_BRK, VALUES(0x2000010, 0x21, ANONYMOUS, 0));
	mark(f, 0, 800, MT_MARK_UNMAP, MT_FUNCTION_BRK, VALUES(0x2000030, 1));
	drain(f);
	assert_int_equal(info->mapped_anonymous_bytes, 0x20);
	mark(f, 0, 900, MT_MARK_MAP, MT_FUNCTION_MMAP,
		VALUES(UINT64_MAX - 0xfff, 0x2000, ANONYMOUS, 0));
	mark(f, 0, 900, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x1000, 0, ANONYMOUS, 0));
	mark(f, 0, 900, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x1000, 5)); /* too few values */
	drain(f);
	assert_int_equal(info->invalid_records, 3);
	assert_int_equal(info->mapped_anonymous_bytes, 0x20);
}

/* A file's pages, a hole of two, pages without a file. */
static void map_two(struct fixture *f)
{
	mark(f, 0, 100, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x100000, 0x4000, FILE_MAP, 0));
	mark(f, 0, 200, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x106000, 0x4000, ANONYMOUS, 0));
}

static void remap(struct fixture *f, uint64_t from, uint64_t old_length, uint64_t to,
	uint64_t length)
{
	mark(f, 0, 300, MT_MARK_UNMAP, MT_FUNCTION_MREMAP, VALUES(from, old_length));
	mark(f, 0, 400, MT_MARK_MAP, MT_FUNCTION_MREMAP, VALUES(to, length, from, old_length, 0));
	drain(f);
}

/* The piece is of the first or the second of the two. */
static void assert_piece(const struct fixture *f, uint32_t index, uint64_t address, uint64_t length,
	bool file)
{
	const struct mt_map_list *pieces = &f->merge.maps.pieces;
	const struct mt_map *piece = &pieces->items[index];

	assert_true(index < pieces->count);
	assert_int_equal(piece->address, address);
	assert_int_equal(piece->length, length);
	assert_int_equal(piece->flags, (file ? FILE_MAP : ANONYMOUS) >> 32);
	assert_int_equal(piece->protection, PROT_READ);
	assert_int_equal(mt_profile_log_function(&f->profile,
				 &(struct mt_log_entry){.node = piece->node}),
		MT_FUNCTION_MMAP);
	assert_int_equal(piece->time_ns, f->profile.log[file ? 0 : 1].time_ns);
}

static void remaps_shares(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;

	map_two(f);
	remap(f, 0x100000, 0xa000, 0x100000, 0x9000); /* cuts the end off */
	assert_int_equal(f->merge.maps.pieces.count, 2);
	assert_piece(f, 0, 0x100000, 0x4000, true);
	assert_piece(f, 1, 0x106000, 0x3000, false);
	assert_int_equal(info->mapped_file_bytes, 0x4000);
	assert_int_equal(info->mapped_anonymous_bytes, 0x3000);
	/* moves both; where there was a hole, what is there stays */
	mark(f, 0, 500, MT_MARK_MAP, MT_FUNCTION_BRK, VALUES(0x505000, 0x2000, ANONYMOUS, 0));
	remap(f, 0x100000, 0x9000, 0x500000, 0x9000);
	assert_int_equal(f->merge.maps.pieces.count, 3);
	assert_piece(f, 0, 0x500000, 0x4000, true);
	assert_int_equal(f->merge.maps.pieces.items[1].address, 0x505000);
	assert_int_equal(f->merge.maps.pieces.items[1].length, 0x1000);
	assert_piece(f, 2, 0x506000, 0x3000, false);
	/* nothing of what is cut is left */
	remap(f, 0x502000, 0x7000, 0x302000, 0x1000);
	assert_int_equal(f->merge.maps.pieces.count, 2);
	assert_piece(f, 0, 0x302000, 0x1000, true);
	assert_piece(f, 1, 0x500000, 0x2000, true);
	assert_int_equal(info->mapped_file_bytes, 0x3000);
	assert_int_equal(info->mapped_anonymous_bytes, 0);
	assert_int_equal(info->mapped_peak_bytes, 0x9000);
	/* by parts and back again: no seam is left */
	remap(f, 0x500000, 0x1000, 0x301000, 0x1000);
	remap(f, 0x501000, 0x1000, 0x501000, 0x1000);
	remap(f, 0x501000, 0x1000, 0x303000, 0x1000);
	remap(f, 0x302000, 0x1000, 0x302000, 0x1000);
	assert_int_equal(info->mapped_file_bytes, 0x3000);
	assert_int_equal(info->maps, 3);
	assert_int_equal(info->unmaps, 0);
	assert_int_equal(info->implied_unmaps, 0);
	assert_int_equal(info->invalid_records, 0);
	assert_int_equal(f->profile.log_count, 3 + 2 * 7); /* one entry for each mark */
}

/* What was mapped one beside the other can be one mapping to the kernel, which grows. */
static void remaps_to_more(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;

	mark(f, 0, 100, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x104000, 0x4000, FILE_MAP, 0));
	mark(f, 0, 200, MT_MARK_MAP, MT_FUNCTION_MMAP, VALUES(0x100000, 0x4000, ANONYMOUS, 0));
	remap(f, 0x100000, 0x8000, 0x700000, 0x20000);
	assert_int_equal(f->merge.maps.pieces.count, 2);
	assert_piece(f, 0, 0x700000, 0x4000, false);
	assert_piece(f, 1, 0x704000, 0x1c000, true);
	for (uint64_t length = 0x20000; length < 0x40000; length += 0x1000)
		remap(f, 0x700000, length, 0x700000, length + 0x1000);
	assert_int_equal(f->merge.maps.pieces.count, 2);
	assert_int_equal(info->mapped_anonymous_bytes, 0x4000);
	assert_int_equal(info->mapped_file_bytes, 0x3c000);
}

/* The old range stays: with MREMAP_DONTUNMAP all of it is mapped a second time, with an old length
 * of 0 what is at its beginning, as far as it may be. */
static void remaps_what_stays(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;

	map_two(f);
	mark(f, 0, 300, MT_MARK_MAP, MT_FUNCTION_MREMAP,
		VALUES(0x300000, 0x9000, 0x100000, 0, 0x9000));
	drain(f);
	assert_int_equal(f->merge.maps.pieces.count, 4);
	assert_piece(f, 0, 0x100000, 0x4000, true);
	assert_piece(f, 1, 0x106000, 0x4000, false);
	assert_piece(f, 2, 0x300000, 0x4000, true);
	assert_piece(f, 3, 0x306000, 0x3000, false);
	mark(f, 0, 400, MT_MARK_MAP, MT_FUNCTION_MREMAP, VALUES(0x500000, 0x9000, 0x101000, 0, 0));
	mark(f, 0, 500, MT_MARK_MAP, MT_FUNCTION_MREMAP, VALUES(0x600000, 0x2000, 0x101000, 0));
	drain(f);
	assert_int_equal(f->merge.maps.pieces.count, 6);
	assert_piece(f, 1, 0x106000, 0x4000, false);
	assert_piece(f, 4, 0x500000, 0x9000, true);
	assert_piece(f, 5, 0x600000, 0x2000, true);
	assert_int_equal(info->mapped_anonymous_bytes, 0x7000);
	assert_int_equal(info->mapped_file_bytes, 0x13000);
	assert_int_equal(info->maps, 2);
	assert_int_equal(info->unmaps, 0);
	/* of nothing that was recorded: it is taken to be without a file, if it was no pause */
	extend(f, 0, MT_EXTEND_PAUSED, 0);
	mark(f, 0, 600, MT_MARK_MAP, MT_FUNCTION_MREMAP,
		VALUES(0x800000, 0x2000, 0x900000, 0, 0x2000));
	mark(f, 0, 700, MT_MARK_MAP, MT_FUNCTION_MREMAP,
		VALUES(0x800000, 0x3000, 0x900000, 0, 0x3000));
	drain(f);
	assert_int_equal(info->mapped_anonymous_bytes, 0xa000);
	assert_int_equal(f->profile.log_count, 6);
}

/* No value that a damaged segment may hold makes pieces that are empty, overlap or wrap. */
static void remaps_anything(void **state)
{
	static const uint64_t odd[] = {0, 1, 0x1000, 0xfff, 0x104001, 0x105000, 0x109fff,
		1ull << 47, 1ull << 63, UINT64_MAX - 0x1000, UINT64_MAX - 0xfff, UINT64_MAX - 1,
		UINT64_MAX};
	enum { ODD = sizeof odd / sizeof *odd };
	struct fixture *f = *state;
	uint64_t seed = 5, n[5];

	for (int round = 0; round < 3000; round++) {
		uint64_t last = 0, sum = 0;

		for (int i = 0; i < 5; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			n[i] = odd[(seed >> 33) % ODD] + (seed >> 60) * (seed >> 59 & 1);
		}
		map_two(f);
		mark(f, 0, 300, MT_MARK_UNMAP, round % 3 ? MT_FUNCTION_MREMAP : MT_FUNCTION_BRK,
			VALUES(n[2], n[3]));
		if (round % 4)
			mark(f, 0, 400, MT_MARK_MAP, MT_FUNCTION_MREMAP,
				VALUES(n[0], n[1], n[2], n[3], n[4]));
		else
			mark(f, 0, 400, MT_MARK_UNMAP_FAILED, MT_FUNCTION_MREMAP,
				VALUES(n[2], n[3]));
		drain(f);
		for (uint32_t i = 0; i < f->merge.maps.pieces.count; i++) {
			const struct mt_map *piece = &f->merge.maps.pieces.items[i];

			assert_true(piece->length && piece->length <= UINT64_MAX - piece->address);
			assert_true(piece->address >= last);
			last = piece->address + piece->length;
			sum += piece->length;
		}
		assert_int_equal(f->merge.maps.anonymous_bytes + f->merge.maps.file_bytes
				+ f->merge.maps.reserved_bytes,
			sum);
	}
}

static void logs(void **state)
{
	struct fixture *f = *state;
	const struct mt_log_entry *log;
	char text[16] = "phase two";
	uint64_t words[2];

	memcpy(words, text, sizeof words);
	mark(f, 0, 2000, MT_MARK_USER, MT_FUNCTION_MARKER, VALUES(words[0], words[1]));
	mark(f, 0, 3000, MT_MARK_CALL, MT_FUNCTION_MALLOPT, VALUES((uint64_t)-3, 7, 1));
	mark(f, 0, 4000, MT_MARK_USER, MT_FUNCTION_PAUSE, 0, NULL);
	drain(f);
	log = f->profile.log;
	assert_int_equal(f->profile.log_count, 3);
	assert_int_equal(log[0].type, MT_LOG_MARKER);
	assert_int_equal(log[0].time_ns, 2000);
	assert_string_equal(mt_strings_get(&f->profile.strings, log[0].text), "phase two");
	assert_int_equal(log[1].type, MT_LOG_CALL);
	assert_int_equal(log[1].values[0], (uint64_t)-3);
	assert_int_equal(log[2].type, MT_LOG_PAUSE);
	assert_int_equal(log[2].text, 0);
	assert_int_equal(f->profile.info.paused, 1);
	mt_merge_pause(&f->merge, false, 0);
	assert_int_equal(f->profile.info.paused, 0);
	assert_int_equal(f->profile.log[3].thread, MT_NO_THREAD);
}

/* What was not recorded in a pause leaves neither blocks nor unknown frees. */
static void pauses(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;

	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 10);
	event(f, 0, MT_RECORD_FREE, 150, 0x9000, 0);
	mark(f, 0, 200, MT_MARK_USER, MT_FUNCTION_PAUSE, 0, NULL);
	event(f, 0, MT_RECORD_RELEASE, 300, 0x5000, 0);
	extend(f, 0, MT_EXTEND_PAUSED, 0);
	event(f, 0, MT_RECORD_REALLOC, 400, 0x6000, 100);
	event(f, 0, MT_RECORD_FREE, 500, 0x6000, 0);
	event(f, 0, MT_RECORD_RELEASE, 600, 0x1000, 0);
	extend(f, 0, MT_EXTEND_PAUSED, 0);
	event(f, 0, MT_RECORD_REALLOC, 700, 0x2000, 30);
	drain(f);
	assert_int_equal(info->allocations, 1);
	assert_int_equal(info->reallocations, 1);
	assert_int_equal(info->leaked_bytes, 30);
	assert_int_equal(info->unknown_frees, 1);
	assert_int_equal(info->unrecorded_frees, 2);
	assert_int_equal(info->invalid_records, 0);
}

static void slack(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;

	f->segment.header->usable_rule = MT_USABLE_GLIBC;
	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 10); /* 24 */
	event(f, 0, MT_RECORD_ALLOC, 200, 0x2000, 25); /* 40 */
	for (uint64_t i = 0; i < 5000; i++) {          /* noted, and gone */
		extend(f, 0, MT_EXTEND_USABLE, 999);
		event(f, 0, MT_RECORD_ALLOC, 300 + i, 0x100000 + i * 64, 8);
		event(f, 0, MT_RECORD_FREE, 300 + i, 0x100000 + i * 64, 0);
		if (i % 500 == 0)
			drain(f);
	}
	extend(f, 0, MT_EXTEND_USABLE, 5000);
	event(f, 0, MT_RECORD_ALLOC, 9000, 0x3000, 4000);
	event(f, 0, MT_RECORD_RELEASE, 9100, 0x3000, 0);
	extend(f, 0, MT_EXTEND_USABLE, 8000);
	event(f, 0, MT_RECORD_REALLOC, 9200, 0x3000, 7000);
	/* where a noted one was: by the rule */
	event(f, 0, MT_RECORD_ALLOC, 9300, 0x100000 + 4999 * 64, 24);
	drain(f);
	mt_merge_slack(&f->merge, true);
	assert_int_equal(info->slack_bytes, 14 + 15 + 1000);
	assert_true(f->merge.slack.mask < 2048);
	f->segment.header->usable_rule = MT_USABLE_NONE;
	mt_merge_slack(&f->merge, true);
	assert_int_equal(info->slack_bytes, 1000);
}

/* How often a walk over many blocks says that it goes on, since it was last asked. */
static uint32_t ticks(struct fixture *f)
{
	uint32_t n = f->segment.header->tick;

	f->segment.header->tick = 0;
	return n;
}

/* Whoever waits for room must not take the recorder for dead. */
static void walks_tick(void **state)
{
	enum { BLOCKS = 300000 };
	struct fixture *f = *state;
	struct mt_merge *m = &f->merge;

	mt_block_history_init(m);
	for (uint64_t i = 1; i <= BLOCKS; i++) {
		mt_live_table_insert(&m->live,
			&(struct mt_pool_cell){.address = i * 32, .size = 10, .number = i});
		mt_block_history_note(m->history, i, i * 1000, i);
	}
	m->next_number = BLOCKS + 1;
	ticks(f);
	mt_merge_slack(m, true);
	assert_in_range(ticks(f), 30, 1000);
	for (uint64_t i = 1; i <= BLOCKS; i++) {
		const struct mt_pool_cell block = {.address = i * 32, .number = i};

		mt_slack_note(&m->slack, &m->live, &block, 100, m->segment);
	}
	assert_in_range(ticks(f), 60, 1000);
}

static void gap(struct fixture *f, uint64_t from, uint64_t to, uint64_t allocations, uint64_t frees)
{
	extend(f, 0, MT_EXTEND_TIME, f->clock.start + to);
	extend(f, 0, MT_EXTEND_VALUE, f->clock.start + from);
	extend(f, 0, MT_EXTEND_VALUE, allocations);
	extend(f, 0, MT_EXTEND_VALUE, frees);
	put(f, 0, mt_wire_record_pack(MT_RECORD_MARK, 0, 0, 0, MT_MARK_GAP));
	publish(f, 0);
}

/* Only what lived before frees were lost may be free by now. */
static void estimates(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;
	uint64_t lost;

	*node_at(f, 33) = (struct mt_wire_node){.parent = 0, .pc = MT_FUNCTION_CALLOC};
	f->segment.header->node_count = 34;
	event(f, 0, MT_RECORD_ALLOC, 1000, 0x1000, 10);
	gap(f, 2000, 5000, 3, 0);
	drain(f);
	assert_false(mt_profile_is_estimated(&f->profile, &f->profile.groups[0]));
	gap(f, 6000, 9000, 0, 2);
	put(f, 0, mt_wire_record_pack(MT_RECORD_ALLOC, 1000, 33, 0x2000 >> 3, 20));
	publish(f, 0);
	drain(f);
	assert_int_equal(info->lossy_ns, 9000);
	assert_true(mt_profile_is_estimated(&f->profile, &f->profile.groups[0]));
	assert_false(mt_profile_is_estimated(&f->profile, &f->profile.groups[1]));
	assert_int_equal(f->profile.log[1].values[0], 6000);
	event(f, 0, MT_RECORD_FREE, 10500, 0x1000, 0);
	drain(f);
	assert_false(mt_profile_is_estimated(&f->profile, &f->profile.groups[0]));
	/* nobody knows when: up to now */
	lost = info->lost_events;
	f->segment.header->counters[MT_COUNTER_UNTRACED_EVENTS] = 1;
	drain(f);
	assert_int_equal(info->lost_events, lost + 1);
	assert_true(mt_profile_is_estimated(&f->profile, &f->profile.groups[1]));
}

static void libraries_may_be_unseen(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info = &f->profile.info;

	event(f, 0, MT_RECORD_ALLOC, 1000, 0x1000, 10);
	event(f, 0, MT_RECORD_FREE, 2000, 0x2000, 0);
	drain(f);
	assert_int_equal(info->unknown_frees, 1);
	assert_false(mt_profile_is_estimated(&f->profile, &f->profile.groups[0]));
	f->segment.header->counters[MT_COUNTER_UNSEEN_LIBRARIES] = 1;
	event(f, 0, MT_RECORD_FREE, 3000, 0x3000, 0);
	drain(f);
	assert_int_equal(info->unknown_frees, 1);
	assert_int_equal(info->unrecorded_frees, 1);
	assert_true(mt_profile_is_estimated(&f->profile, &f->profile.groups[0]));
}

static void keeps_free_sites(void **state)
{
	struct fixture *f = *state;

	*node_at(f, 33) = (struct mt_wire_node){.parent = 0, .pc = 32};
	*node_at(f, 34) = (struct mt_wire_node){.parent = 33, .pc = MT_FUNCTION_FREE};
	f->segment.header->node_count = 35;
	for (uint64_t i = 0; i < 3; i++) {
		event(f, 0, MT_RECORD_ALLOC, 1000, 0x1000, 10);
		put(f, 0,
			mt_wire_record_pack(MT_RECORD_FREE, 0, i < 2 ? 34 : MT_FUNCTION_FREE,
				0x1000 >> 3, 0));
		publish(f, 0);
	}
	assert_int_equal(drain(f)->frees, 3);
	assert_int_equal(f->profile.free_site_count, 1);
	assert_int_equal(f->profile.free_sites[0].count, 2);
	assert_int_equal(f->profile.nodes[f->profile.free_sites[0].node].pc, MT_FUNCTION_FREE);
}

static void pools_are_apart(void **state)
{
	struct fixture *f = *state;

	event(f, 0, MT_RECORD_ALLOC, 100, 0x1000, 100);
	extend(f, 0, MT_EXTEND_TIME, f->clock.start + 200);
	extend_pointer(f, 0, 0x1000, MT_FUNCTION_POOL);
	*node_at(f, 33) = (struct mt_wire_node){.parent = 0, .pc = MT_FUNCTION_POOL};
	f->segment.header->node_count = 34;
	put(f, 0, mt_wire_record_pack(MT_RECORD_ALLOC, 0, 33, MT_POINTER_EXTENDED, 10));
	publish(f, 0);
	event(f, 0, MT_RECORD_FREE, 300, 0x1000, 0);
	assert_int_equal(drain(f)->implied_frees, 0);
	assert_int_equal(f->profile.info.leaked_bytes, 10);
}

static void survives_bad_ids(void **state)
{
	struct fixture *f = *state;
	uint32_t nodes[] = {33, 34, 35, 1u << 30, UINT32_MAX};

	/* its own parent */
	*node_at(f, 33) = (struct mt_wire_node){.parent = 33, .pc = MT_FUNCTION_MALLOC};
	/* a later one */
	*node_at(f, 34) = (struct mt_wire_node){.parent = 40, .pc = MT_FUNCTION_MALLOC};
	/* no such pc */
	*node_at(f, 35) = (struct mt_wire_node){.parent = 32, .pc = 1u << 29};
	f->segment.header->node_count = 36;
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
		extend(f, 0, MT_EXTEND_TIME, f->clock.start + 1000);
		put(f, 0, mt_wire_record_pack(MT_RECORD_ALLOC, 0, nodes[i], 0x1000 + i, 8));
	}
	put(f, 0, mt_wire_record_pack(MT_RECORD_MARK, 0, 77777, 0, MT_MARK_THREAD));
	put(f, 0, mt_wire_record_pack(MT_RECORD_MARK, 0, 0, 0, 999));
	put(f, 0, mt_wire_record_pack(MT_RECORD_ALLOC, 0, 32, 0, 8)); /* address 0 */
	publish(f, 0);
	const struct mt_info *info = drain(f);

	assert_true(info->invalid_records >= 8);
	assert_int_equal(info->allocations, 5);
	ring_at(f, 1)->head = 1ull << 50;
	ring_at(f, 2)->head = (uint64_t)-5;
	f->segment.header->ring_count = UINT32_MAX;
	assert_int_equal(mt_merge_poll(&f->merge), 0);
}

/* ---- blocks by address against a plain list ---- */

static void insert(struct mt_pool *pool, const struct mt_pool_cell *block)
{
	uint32_t id = mt_pool_take_cell(pool);
	struct mt_pool_place place;

	*mt_pool_cell(pool, id) = *block;
	assert_null(mt_pool_look_up(pool, block->address, &place));
	mt_pool_insert_at(pool, &place, id);
}

static void pools(void **state)
{
	struct mt_pool *pool = mt_alloc(sizeof *pool);
	struct mt_pool_place place;
	enum { COUNT = 4096 };
	bool *live = mt_alloc(COUNT * sizeof *live);
	uint64_t seed = 1;

	(void)state;
	mt_pool_init(pool);
	for (int i = 0; i < 400000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		uint32_t at = (uint32_t)(seed >> 33) % COUNT;
		struct mt_pool_cell block = {.address = 0x10000 + at * 16, .number = at};
		struct mt_pool_cell *found = mt_pool_look_up(pool, block.address, &place);

		assert_int_equal(found != NULL, live[at]);
		if (found)
			mt_pool_remove_at(pool, &place);
		else
			insert(pool, &block);
		live[at] = !live[at];
	}
	for (uint32_t at = 0; at < COUNT; at++) {
		struct mt_pool_cell *found = mt_pool_look_up(pool, 0x10000 + at * 16, &place);

		assert_int_equal(found != NULL, live[at]);
		assert_true(!found || found->number == at);
	}
	mt_pool_free(pool);
	free(pool);
	free(live);
}

/* So many that tables lie in huge pages, and those that were grown out of become cells. */
static void pools_many(void **state)
{
	struct mt_pool *pool = mt_alloc(sizeof *pool);
	struct mt_pool_place place;
	enum { COUNT = 600000 };

	(void)state;
	mt_pool_init(pool);
	for (uint64_t i = 0; i < COUNT; i++)
		insert(pool,
			&(struct mt_pool_cell){
				.address = 0x10000 + i * 48,
				.number = i,
				.size = ~i,
			});
	assert_true(pool->chunk_count > 1
		&& pool->chunk_count * (uint64_t)MT_POOL_CHUNK < COUNT + MT_POOL_CHUNK);
	for (uint64_t i = 0; i < COUNT; i++) {
		struct mt_pool_cell *found = mt_pool_look_up(pool, 0x10000 + i * 48, &place);

		assert_true(found && found->number == i && found->size == ~i);
		if (i % 2)
			mt_pool_remove_at(pool, &place);
	}
	for (uint64_t i = 0; i < COUNT; i++)
		assert_int_equal(mt_pool_look_up(pool, 0x10000 + i * 48, &place) != NULL,
			i % 2 == 0);
	mt_pool_free(pool);
	free(pool);
}

/* The n-th address whose look-up begins at this bucket of the first part. */
static uint64_t address_at(const struct mt_pool *pool, uint32_t bucket, unsigned n)
{
	for (uint64_t address = 16;; address += 16) {
		uint64_t hash = mt_pool_hash(address);

		if (!(hash >> 58) && mt_pool_tag(hash) >> pool->parts[0].shift == bucket && !n--)
			return address;
	}
}

/* Every bucket was once passed by a block that still lies further on: a look-up has no bucket to
 * end at. */
static void pools_past_all_buckets(void **state)
{
	struct mt_pool *pool = mt_alloc(sizeof *pool);
	struct mt_pool_place place;

	(void)state;
	mt_pool_init(pool);
	for (uint32_t bucket = 0; bucket <= pool->parts[0].mask; bucket++) {
		for (unsigned i = 0; i < MT_POOL_WIDTH + 1; i++)
			if (!mt_pool_look_up(pool, address_at(pool, bucket, i), &place))
				insert(pool,
					&(struct mt_pool_cell){
						.address = address_at(pool, bucket, i)});
		for (unsigned i = 0; i < MT_POOL_WIDTH + 1; i++) {
			struct mt_pool_cell *found =
				mt_pool_look_up(pool, address_at(pool, bucket, i), &place);

			assert_non_null(found);
			if (place.bucket == bucket)
				mt_pool_remove_at(pool, &place);
		}
		assert_true(pool->parts[0].buckets[bucket].passed > 0);
	}
	assert_null(mt_pool_look_up(pool, address_at(pool, 0, MT_POOL_WIDTH + 1), &place));
	mt_pool_free(pool);
	free(pool);
}

/* ---- a hostile program ---- */

struct vandal {
	struct fixture *fixture;
	bool stop;
};

static void scribble(struct fixture *f, uint64_t *seed)
{
	uint8_t *base = f->segment.base;
	struct mt_wire_header *h = f->segment.header;
	uint64_t r = *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	uint64_t value = r >> 11;

	switch (r >> 60) {
	case 0: *(uint64_t *)(void *)(base + (r >> 20) % (f->segment.size / 8) * 8) = value; break;
	case 1: ((uint32_t *)&h->module_count)[r >> 33 & 3] = (uint32_t)(value >> (r & 31)); break;
	case 2: *(uint64_t *)(void *)(base + (r >> 20) % 512 * 8) = value; break;
	case 3:
	case 4: ring_at(f, (uint32_t)(r >> 33) % 8)->head += (r >> 40) % 3000; break;
	case 5: ring_at(f, (uint32_t)(r >> 33) % 8)->head = value; break;
	case 6:
		ring_at(f, (uint32_t)(r >> 33) % 8)->head =
			ring_at(f, (uint32_t)(r >> 33) % 8)->tail + (r >> 50);
		break;
	case 7:
	case 8:
		*node_at(f, (uint32_t)(r >> 33) % 5000) =
			(struct mt_wire_node){.parent = (uint32_t)(r >> 20) % 5000,
				.pc = (uint32_t)(r >> 9) % 6000};
		break;
	case 9:
		*(uint64_t *)(void *)mt_segment_entry(&f->segment, modules, (r >> 33) % 16) = value;
		break;
	default:
		*(struct mt_wire_record *)(void *)mt_segment_entry(&f->segment, ring_data,
			(r >> 20) % mt_wire_ring_place(&f->segment.sizes, 8)) =
			mt_wire_record_pack(r & 7, (uint32_t)(r >> 50), (uint32_t)(r >> 33) % 6000,
				(r >> 7) % 4096, (uint32_t)(r >> 13) & (r & 1 << 10 ? 7 : 0xffff));
	}
}

static void *vandalize(void *at)
{
	struct vandal *v = at;
	uint64_t seed = 42;

	while (!__atomic_load_n(&v->stop, __ATOMIC_RELAXED))
		scribble(v->fixture, &seed);
	return NULL;
}

static void survives_vandals(void **state)
{
	struct fixture *f = *state;
	struct vandal v = {.fixture = f};
	uint64_t end = mt_clock_monotonic_ns() + 3000000000ull;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, vandalize, &v), 0);
	while (mt_clock_monotonic_ns() < end)
		mt_merge_poll(&f->merge);
	__atomic_store_n(&v.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	mt_model_settle(&f->model);
	assert_true(f->profile.info.invalid_records > 0);
	assert_true(f->profile.info.events > 0);
	assert_true(f->profile.log_count > 0);
	for (uint32_t i = 0; i < f->profile.log_count; i++)
		assert_true(f->profile.log[i].type < MT_LOG_TYPES
			&& f->profile.log[i].text < f->profile.strings.count
			&& mt_profile_log_function(&f->profile, &f->profile.log[i]) < MT_PC_FIRST);
	for (uint32_t i = 1; i < f->profile.node_count; i++)
		assert_true(f->profile.nodes[i].parent < i
			&& f->profile.nodes[i].pc < f->profile.pc_count);
	for (uint32_t i = 0; i < f->profile.group_count; i++)
		assert_true(f->profile.groups[i].node < f->profile.node_count);
}

/* ---- sizes ---- */

static void respects_limits(void **state)
{
	struct mt_segment s;
	struct mt_err err;

	(void)state;
	for (uint64_t limit = 1u << 20; limit < 1ull << 40; limit *= 2) {
		struct mt_segment_options o = {.address_limit = limit};

		if (mt_segment_create(&s, &o, NULL, &err) < 0) {
			assert_true(limit < 256u << 20);
			continue;
		}
		assert_true(s.size <= limit / 8);
		mt_segment_free(&s);
	}
}

/* ---- many segments of one recorder ---- */

static void tick_together(void **state)
{
	enum { COUNT = 20 };
	struct mt_segment s[COUNT];
	struct mt_segment_turns turns = {0};
	const struct mt_segment_options options = {.address_limit = RLIM_INFINITY};
	struct mt_err err;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(mt_segment_create(&s[i], &options, NULL, &err), 0);
		mt_segment_join(&s[i], &turns);
	}
	for (int i = 0; i < COUNT; i++)
		mt_segment_tick(&s[3]);
	for (int i = 0; i < COUNT; i++)
		assert_in_range(s[i].header->tick, 1, 2 * COUNT);
	for (int i = COUNT; i-- > 1;) {
		mt_segment_free(&s[i]);
		mt_segment_tick(&s[0]);
	}
	assert_int_equal(turns.count, 1);
	mt_segment_free(&s[0]);
	assert_int_equal(turns.count, 0);
	free(turns.headers);
}

/* ---- a recorder that is kept from running ---- */

static unsigned looks_before_leap = UINT32_MAX;
static uint64_t leap_s;

/* In place of libc's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (looks_before_leap-- == 0)
		leap_s += 5;
	now->tv_sec += (time_t)leap_s;
	return result;
}

/* Between its look at the clock and that at the rings: what came meanwhile is no damage, and waits
 * for what came before it. */
static void stands_still_in_a_poll(void **state)
{
	struct fixture *f = *state;
	uint64_t soon = mt_clock_monotonic_ns() + 3000000000 - f->clock.start;

	while (mt_merge_poll(&f->merge))
		;
	event(f, 0, MT_RECORD_FREE, soon + 1000000, 0x1000, 0);
	looks_before_leap = 1;
	assert_int_equal(mt_merge_poll(&f->merge), 0);
	event(f, 1, MT_RECORD_ALLOC, soon, 0x1000, 64);
	const struct mt_info *info = drain(f);

	assert_int_equal(info->unknown_frees, 0);
	assert_int_equal(info->leaked_bytes, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {CASE(counts_simple), CASE(order_across_rings),
		CASE(counts_ambiguous), CASE(implies_frees), CASE(counts_from_the_attach_on),
		CASE(reallocates), CASE(reallocates_across_rings), CASE(extends), CASE(counts_gaps),
		CASE(maps), CASE(maps_of_large_pages), CASE(takes_unmaps_back), CASE(remaps),
		CASE(remaps_shares), CASE(remaps_to_more), CASE(remaps_what_stays),
		CASE(remaps_anything), CASE(logs), CASE(pauses), CASE(slack), CASE(walks_tick),
		CASE(estimates), CASE(libraries_may_be_unseen), CASE(keeps_free_sites),
		CASE(pools_are_apart), CASE(survives_bad_ids), CASE(survives_vandals),
		cmocka_unit_test(pools), cmocka_unit_test(pools_many),
		cmocka_unit_test(pools_past_all_buckets), cmocka_unit_test(respects_limits),
		cmocka_unit_test(tick_together), CASE(stands_still_in_a_poll)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
