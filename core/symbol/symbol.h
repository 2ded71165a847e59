/* Names for pcs: functions with inline frames, source files and lines. A pc has one or more frames,
 * innermost (most inlined) first. Symbols come from a trace's symbol block, or from the modules'
 * files by libdw; the latter runs in a thread of its own and names appear as they come. */
#ifndef MT_SYMBOL_SYMBOL_H
#define MT_SYMBOL_SYMBOL_H

#include "core/base/err.h"
#include "core/model/profile.h"

struct mt_frame {
	/* string id in symbols->strings: demangled; never empty (0x… where unknown) */
	uint32_t function;
	uint32_t raw_function; /* as in the symbol table */
	uint32_t source;       /* path as in the debug information, 0 = unknown */
	uint32_t line;         /* 0 = unknown */
	uint32_t inlined;      /* 1: this frame is inlined into the next one of the same pc */
};

struct mt_pc_symbols {
	uint32_t first, count; /* frames; count 0 = not resolved (yet) */
	/* bytes from the beginning of the function that is not inlined, plus 1; 0 = not known */
	uint32_t offset;
};

/* Of a function: not yet; it is no wrapper of malloc, or one; it has no name but the place of its
 * code, and is no wrapper. */
enum { MT_JUDGED_NOT, MT_JUDGED_NONE, MT_JUDGED_WRAPPER, MT_JUDGED_PLACE };

enum mt_embedded { MT_EMBEDDED_NONE, MT_EMBEDDED_TEXT, MT_EMBEDDED_UNREADABLE };

struct mt_symbols {
	struct mt_strings strings;
	struct mt_frame *frames;
	uint32_t frame_count, frame_capacity;
	struct mt_pc_symbols *pcs; /* by pc id of the profile; markers have none */
	uint32_t pc_count, pc_capacity;
	uint64_t generation; /* grows whenever something was added */
	/* Its own since mt_symbols_init: while it stays the same, ids keep their meaning. */
	uint64_t lineage;
	/* string id: what the program's __lsan_default_suppressions() returns */
	uint32_t suppressions;
	uint32_t embedded; /* enum mt_embedded: whether it has one, and that was readable */
	/* MT_JUDGED_ by string id of a function (core/query/wrappers.h) */
	uint8_t *judged;
	uint32_t judged_strings, judged_frames, judged_by;
};

void mt_symbols_init(struct mt_symbols *);
void mt_symbols_free(struct mt_symbols *);

/* The trace's symbol block. The reader checks every number; a hostile block gives an error and
 * leaves symbols empty. */
void mt_symbols_encode(const struct mt_symbols *, struct mt_buffer *out);
int mt_symbols_decode(struct mt_symbols *, const void *payload, size_t len, struct mt_err *err);

/* ---- resolving ---- */
struct mt_resolver_options {
	const char *sysroot; /* modules are looked for below it first; NULL: / */
	/* colon-separated further debug directories; NULL: the system's */
	const char *debug_paths;
	uint32_t root_pid; /* != 0: look below /proc/PID/root first while it lives */
	const char *trace; /* path: root opens files with the rights of its owner; NULL: its own */
	/* bytes that the compressed parts of one file may take; 0: see mt_foreign_memory */
	uint64_t memory_max;
	/* directory of names that were looked up before, and are from now on; NULL: none */
	const char *cache;
};
struct mt_resolver;
/* Owns its libdw session; use from one thread at a time. */
struct mt_resolver *mt_resolver_new(const struct mt_resolver_options *);
/* Opens the file of a module at once, so that it is there after dlclose, upgrade or the program's
 * end. */
void mt_resolver_module(struct mt_resolver *, const struct mt_profile *, uint32_t module);
/* Resolves one pc into symbols (appends frames). Always leaves at least one frame. A file whose
 * build-id differs from the recorded one is not used. */
void mt_resolver_pc(struct mt_resolver *, const struct mt_profile *, uint32_t pc,
	struct mt_symbols *symbols);
/* Looks for __lsan_default_suppressions in the modules, in their order, and notes the text that it
 * returns. The function is not called: one that does more than to return a constant is noted as
 * unreadable. */
void mt_resolver_suppressions(struct mt_resolver *, const struct mt_profile *,
	struct mt_symbols *symbols);
/* One sentence on what is missing (files not found, other build-ids, no debug information), or
 * NULL. Owned. */
const char *mt_resolver_missing(const struct mt_resolver *);
/* One sentence on files that have debug information which this libdw cannot read, or NULL; the
 * caller frees. symbols: of the profile. */
char *mt_symbols_unreadable(const struct mt_profile *, const struct mt_symbols *symbols);
void mt_resolver_free(struct mt_resolver *);
/* A resolver that keeps files for others of its thread, which resolve one after another what is
 * much the same. borrow: uses the library's files in place of its own where it has the same;
 * give_back: lets go of them, and adds its own to them; resolves nothing afterwards. */
void mt_resolver_borrow(struct mt_resolver *, struct mt_resolver *library);
void mt_resolver_give_back(struct mt_resolver *, struct mt_resolver *library);

/* ---- in the background ---- */
struct mt_symbolizer;
/* A thread that resolves pcs. Options are copied. */
struct mt_symbolizer *mt_symbolizer_new(const struct mt_resolver_options *);
/* Hands over modules and pcs of the profile beyond those handed over before (copies them). */
void mt_symbolizer_feed(struct mt_symbolizer *, const struct mt_profile *);
/* Copies what was resolved since into symbols; returns whether there was something. */
bool mt_symbolizer_collect(struct mt_symbolizer *, struct mt_symbols *symbols);
bool mt_symbolizer_busy(struct mt_symbolizer *);
void mt_symbolizer_wait(struct mt_symbolizer *); /* until all that was fed is resolved */
/* As mt_resolver_missing; a copy, which the caller frees, or NULL. */
char *mt_symbolizer_missing(struct mt_symbolizer *);
void mt_symbolizer_free(struct mt_symbolizer *); /* cancels at the next pc */

/* ---- at once ---- */
#define MT_LOOKUP_LOOKS 300 /* 100 ms apart */
struct mt_lookup {
	struct mt_resolver *resolver; /* is taken */
	struct mt_resolver *library;  /* to borrow of and to give back to; NULL: none */
	/* without use of the processor, or 20 times as many without progress: it is given up */
	unsigned looks;
	void (*progress)(void *context, double fraction); /* NULL: nobody wants to know */
	void *context;
	/* gets the sentence on what is missing; NULL: nobody wants to know */
	void (*say)(const char *format, ...);
};
/* Looks up the names of all pcs that have none yet, and what the program says of its leaks.
 * -ETIMEDOUT: a file system does not answer, or a file keeps libdw busy. Then the rest has the
 * names of what has none, and the library is lost to the thread that is left behind. */
int mt_lookup(const struct mt_lookup *, const struct mt_profile *, struct mt_symbols *,
	struct mt_err *err);

/* Demangled (C++, Rust legacy and v0, D); mangled itself where it is none or libiberty is missing.
 * Caller frees. */
char *mt_demangle(const char *raw);
/* The name with each template's arguments as <…>, and without what a template returns. Caller
 * frees. */
char *mt_name_shorten(const char *name);
/* The same with another ellipsis, and with the last list of parameters as (…). Caller frees. */
char *mt_name_fold(const char *name, const char *ellipsis, bool with_parameters);
/* Of a folded name: what stands behind its first namespace or class; NULL: there is none. */
const char *mt_name_inner(const char *folded);
/* Of a folded name: the function alone, without namespaces and classes, and how much of it stands
 * before template arguments and parameters. */
const char *mt_name_base(const char *folded);
size_t mt_name_base_len(const char *folded);

#endif
