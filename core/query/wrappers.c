#include "core/query/wrappers.h"

#include "core/query/fingerprint.h"
#include "core/query/frame.h"
#include "core/query/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list: names without arguments of functions and templates, and without what a template
 * returns ---- */

static const char *const exact[] = {
	/* C++ and its runtimes */
	"operator new",
	"operator new[]",
	"newImpl",
	"fbstring",
	"simple_alloc::allocate",
	"__malloc_alloc_template::allocate",
	"__builtin_new",
	"__builtin_vec_new",
	"__cxa_allocate_exception",
	/* allocators */
	"do_malloc_or_cpp_alloc",
	"DoSampledAllocation",
	"malloc_zone_malloc",
	"tc_new",
	"tc_new_nothrow",
	"tc_newarray",
	"tc_newarray_nothrow",
	"mallocx",
	"rallocx",
	"xallocx",
	/* GNU programs and libraries */
	"xmallocarray",
	"xcharalloc",
	"xnmalloc",
	"x2realloc",
	"x2nrealloc",
	"xpalloc",
	"xasprintf",
	"xvasprintf",
	"_obstack_newchunk",
	"_obstack_begin",
	"_obstack_begin_1",
	"rpl_obstack_newchunk",
	"obstack_alloc",
	/* GCC */
	"ggc_internal_alloc",
	"ggc_internal_cleared_alloc",
	"ggc_realloc",
	"ggc_alloc_string",
	"alloc_page",
	"vec::reserve",
	"vec::reserve_exact",
	"vec::safe_grow",
	"vec::safe_grow_cleared",
	"vec::quick_grow_cleared",
	"vec::create",
	"hash_table::alloc_entries",
	/* CPython */
	"_PyObject_New",
	"_PyObject_NewVar",
	"PyType_GenericAlloc",
	"PyType_GenericNew",
	"_PyType_AllocNoTrack",
	"gc_alloc",
	"pymalloc_alloc",
	"allocate_from_new_pool",
	"new_arena",
	"arena_map_get",
	"arena_map_mark_used",
	"new_keys_object",
	"list_resize",
	"dictresize",
	"insertion_resize",
	"_PyBytes_FromSize",
	/* Perl */
	"Perl_more_sv",
	"Perl_more_bodies",
	"S_more_sv",
	"S_new_body",
	"S_new_sv",
	"Perl_new_sv",
	"Perl_sv_grow",
	"Perl_sv_grow_fresh",
	/* SQLite */
	"dbMallocRawFinish",
	"mallocWithAlarm",
	"pcache1Alloc",
	"sqlite3VdbeMemGrow",
	"sqlite3VdbeMemClearAndResize",
	/* OpenSSL */
	"BUF_MEM_grow",
	"BUF_MEM_grow_clean",
	"sk_reserve",
	/* GLib */
	"g_array_maybe_expand",
	"g_ptr_array_maybe_expand",
	"g_string_expand",
	"g_string_maybe_expand",
	"g_type_create_instance",
	"g_object_new",
	"g_object_new_internal",
	"g_object_new_valist",
	"g_object_new_with_properties",
	"g_rc_box_alloc_full",
	/* Qt */
	"QArrayData::allocate",
	"QArrayData::allocate1",
	"QArrayData::allocate2",
	"QArrayData::reallocateUnaligned",
	"QTypedArrayData::allocate",
	"QListData::detach_grow",
	"QListData::append",
	"QString::reallocData",
	"QByteArray::reallocData",
	"QVector::reallocData",
	"QHashData::allocateNode",
	"QMapDataBase::createNode",
	"qMallocAligned",
	/* V8 and Node.js */
	"v8::internal::AllocWithRetry",
	"v8::internal::AllocAtLeastWithRetry",
	"v8::internal::AlignedAllocWithRetry",
	"v8::internal::AlignedAlloc",
	"v8::internal::NewArray",
	"v8::internal::Zone::Expand",
	/* HotSpot */
	"AllocateHeap",
	"ReallocateHeap",
	"Arena::grow",
	"Arena::Arena",
	"ChunkPool::allocate",
	"ChunkPool::allocate_chunk",
	"resource_allocate_bytes",
	"resource_reallocate_bytes",
	/* Redis */
	"zmalloc_usable",
	"zmalloc_usable_internal",
	"zmalloc_cache_aligned",
	"zcalloc_num",
	"zcalloc_usable",
	"zrealloc_usable",
	"zrealloc_usable_internal",
	"ztrymalloc_usable",
	"ztrymalloc_usable_internal",
	"ztrycalloc_usable",
	"ztrycalloc_usable_internal",
	"ztryrealloc_usable",
	"ztryrealloc_usable_internal",
	"sdsnewlen",
	"_sdsnewlen",
	"sdstrynewlen",
	"hi_sdsnewlen",
	"sdsMakeRoomFor",
	"_sdsMakeRoomFor",
	"sdsMakeRoomForNonGreedy",
	"hi_sdsMakeRoomFor",
	/* Git */
	"mem_pool_alloc",
	"mem_pool_alloc_block",
	/* Go */
	"runtime.cgocall",
	"runtime.asmcgocall",
	/* servers and interpreters */
	"apr_palloc",
	"ngx_alloc",
	"ngx_pnalloc",
	"ngx_palloc_large",
	"ngx_palloc_block",
	"ngx_palloc_small",
	"palloc_extended",
	"palloc",
	"repalloc",
	"AllocSetAlloc",
	"AllocSetRealloc",
	"GenerationAlloc",
	"SlabAlloc",
	"l_alloc",
	"luaC_newobj",
	"newobj_of",
	"rb_wb_protected_newobj_of",
};

static const char *const prefixes[] = {
	"std::",
	"__gnu_cxx::",
	"__cxxabiv1::",
	"tcmalloc::",
	"jemalloc::",
	"je_",
	"_rjem_",
	"_mi_",
	"bmalloc::",
	"partition_alloc::",
	"WTF::fast",
	"WTF::tryFast",
	"WTF::Partitions::",
	"va_heap::",
	"va_gc::",
	"va_gc_atomic::",
	"memory_block_pool::",
	"PyMem_",
	"_PyMem_",
	"PyObject_GC_",
	"_PyObject_GC_",
	"sqlite3Malloc",
	"sqlite3DbMalloc",
	"sqlite3DbRealloc",
	"sqlite3DbStr",
	"sqlite3MemMalloc",
	"sqlite3MemRealloc",
	"g_malloc",
	"g_realloc",
	"g_try_",
	"g_slice_alloc",
	"g_slice_copy",
	"g_strdup",
	"g_memdup",
	"strbuf_",
	"luaM_",
	"zend_mm_",
	"_emalloc",
	"MemoryContextAlloc",
	"QtSharedPointer::",
};

/* What the name of a wrapper usually ends with, whoever's it is: xmalloc, do_xmalloc, zend's
 * emalloc, CRYPTO_strdup. Small letters; digits and '_' behind it do not count (Perl_safesysmalloc,
 * av_mallocz, g_malloc0, luaM_realloc_). */
static const char *const endings[] = {
	"malloc",
	"mallocz",
	"mallocraw",
	"malloczero",
	"calloc",
	"realloc",
	"zalloc",
	"reallocarray",
	"reallocf",
	"memalign",
	"aligned_alloc",
	"strdup",
	"strndup",
	"memdup",
	"memdupz",
	"pstrmemdup",
	"::operator new",
	"::operator new[]",
};

/* Crates of Rust's library. */
static const char *const crates[] = {"alloc::", "core::", "std::", "hashbrown::", "__rustc::",
	"__rust_", "__rdl_", "__rg_"};

/* ---- names ---- */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Mangled by one of Rust's two schemes. */
static bool is_rust(const char *raw)
{
	const char *hash = begins(raw, "_ZN") ? strstr(raw, "17h") : NULL;

	for (; hash; hash = strstr(hash + 1, "17h"))
		if (strspn(hash + 3, "0123456789abcdef") >= 16 && hash[19] == 'E')
			return true;
	return begins(raw, "_R");
}

/* A function or a method of a crate's: alloc::…, <alloc::… as …>::…, <&mut alloc::…>::…, <T as
 * alloc::…>::…. */
static bool is_of_rusts_library(const char *function)
{
	const char *as;

	if (*function == '<')
		function++;
	while (*function && strchr("&[*", *function))
		function += begins(function, "&mut ") ? 5
			: begins(function, "*const ") ? 7
			: begins(function, "*mut ")   ? 5
						      : 1;
	if (isupper((unsigned char)*function) && (as = strstr(function, " as "))
		&& !memchr(function, ':', (size_t)(as - function)))
		function = as + 4;
	for (size_t i = 0; i < sizeof crates / sizeof *crates; i++)
		if (begins(function, crates[i]))
			return true;
	return false;
}

#define BARE_LEN 256

/* "void std::vector<int>::push_back(int const&)" as "std::vector::push_back". What is too long
 * loses its end. */
static void strip(char bare[BARE_LEN], const char *function, size_t len)
{
	const char *keyword = strstr(function, "operator"); /* a method's, or operator new itself */
	size_t depth = 0, out = 0;

	for (const char *c = function, *end = function + len; c < end && out + 1 < BARE_LEN; c++) {
		if (!depth && c == keyword) { /* its signs are no brackets */
			size_t name = strcspn(c, "(");

			for (; name-- && c < end && out + 1 < BARE_LEN; c++)
				bare[out++] = *c;
			break;
		}
		if (*c == '<')
			depth++;
		else if (*c == '>' && depth)
			depth--;
		else if (depth)
			continue;
		else if (*c == '(' && !begins(c, "(anonymous namespace)"))
			break;
		else if (*c == ' ' && !begins(c, " namespace)"))
			out = 0; /* that was what it returns */
		else
			bare[out++] = *c;
	}
	bare[out] = '\0';
}

static bool ends_as_usual(const char *bare)
{
	char low[BARE_LEN];
	size_t len = strlen(bare);

	while (len && (isdigit((unsigned char)bare[len - 1]) || bare[len - 1] == '_'))
		len--;
	for (size_t i = 0; i < len; i++)
		low[i] = (char)tolower((unsigned char)bare[i]);
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t ending = strlen(endings[i]);

		if (len >= ending && !memcmp(low + len - ending, endings[i], ending))
			return true;
	}
	return false;
}

/* A method of a class that is named for it: PoolAllocator::Allocate. */
static bool is_of_an_allocator(const char *bare)
{
	const char *in = strstr(bare, "llocator::");

	return in && !strstr(in + 10, "::");
}

/* What cgo makes for each C function that Go calls: main._Cfunc_NAME or main._C2func_NAME, with its
 * errno, and in C _cgo_0123456789ab_Cfunc_NAME; NAME allocates by itself, or is inlined here. */
static bool is_of_cgo(const char *function)
{
	return strstr(function, "._Cfunc_") || strstr(function, "._C2func_")
		|| strstr(function, "._cgo_cmalloc")
		|| (begins(function, "_cgo_")
			&& (strstr(function, "_Cfunc_") || strstr(function, "_C2func_")));
}

bool mt_is_usual_wrapper(const char *function, const char *raw)
{
	char bare[BARE_LEN];

	if (is_rust(raw) && is_of_rusts_library(function))
		return true;
	strip(bare, function, mt_fingerprint_name(function));
	for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
		if (*exact[i] == *bare && !strcmp(exact[i], bare))
			return true;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (*prefixes[i] == *bare && begins(bare, prefixes[i]))
			return true;
	return ends_as_usual(bare) || is_of_an_allocator(bare) || is_of_cgo(bare);
}

/* ---- the user's, and verdicts by string ---- */

struct mt_wrappers {
	struct mt_pattern **patterns;
	uint32_t count, capacity;
	uint32_t version; /* grows with every change; 0: as without */
};

struct mt_wrappers *mt_wrappers_new(void)
{
	return mt_alloc(sizeof(struct mt_wrappers));
}

int mt_wrappers_add(struct mt_wrappers *w, const char *pattern, const char *name,
	struct mt_err *err)
{
	struct mt_pattern *made = mt_pattern_new(pattern, name, err);

	if (!made)
		return -EINVAL;
	MT_GROW(w->patterns, w->count, w->capacity);
	w->patterns[w->count++] = made;
	w->version++;
	return 0;
}

void mt_wrappers_clear(struct mt_wrappers *w)
{
	w->version += w->count > 0;
	while (w->count)
		mt_pattern_free(w->patterns[--w->count]);
}

/* A pattern that takes too long on some name does not match it. */
static bool is_the_users(struct mt_wrappers *w, const char *function)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (mt_pattern_match(w->patterns[i], function, NULL) > 0)
			return true;
	return false;
}

static uint32_t version_of(const struct mt_wrappers *w)
{
	return w ? w->version : 0;
}

bool mt_wrappers_have_judged(const struct mt_wrappers *w, const struct mt_symbols *s)
{
	return s->judged_by == version_of(w) && s->judged_frames == s->frame_count;
}

void mt_wrappers_judge(struct mt_wrappers *w, struct mt_symbols *s)
{
	if (mt_wrappers_have_judged(w, s))
		return;
	if (s->judged_by != version_of(w))
		s->judged_frames = s->judged_strings = 0;
	s->judged_by = version_of(w);
	s->judged = mt_resize(s->judged, s->strings.count);
	memset(s->judged + s->judged_strings, MT_JUDGED_NOT, s->strings.count - s->judged_strings);
	s->judged_strings = s->strings.count;
	for (uint32_t i = 0; w && i < w->count; i++)
		mt_pattern_begin(w->patterns[i]);
	for (; s->judged_frames < s->frame_count; s->judged_frames++) {
		const struct mt_frame *frame = &s->frames[s->judged_frames];
		const char *function = mt_strings_get(&s->strings, frame->function);

		if (s->judged[frame->function] == MT_JUDGED_NOT)
			s->judged[frame->function] =
				mt_is_usual_wrapper(function,
					mt_strings_get(&s->strings, frame->raw_function))
					|| (w && is_the_users(w, function))
				? MT_JUDGED_WRAPPER
				: mt_frame_is_place(function) ? MT_JUDGED_PLACE
							      : MT_JUDGED_NONE;
	}
}

void mt_wrappers_free(struct mt_wrappers *w)
{
	if (!w)
		return;
	mt_wrappers_clear(w);
	free(w->patterns);
	free(w);
}
