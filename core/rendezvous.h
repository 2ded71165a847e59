/* The messages by which a tracer gets a segment (core/wire.h) from the recorder.
 *
 * MEMTUI_SESSION=<abstract socket name>:<32 hex digits of token>
 * [:<pid>.<socket>.<library>[:<path>]], in one word. The tracer connects (SOCK_SEQPACKET), sends
 * one mt_wire_request and gets one mt_wire_reply, with the memfd attached when status is 0. The
 * numbers behind the token are decimal: the recorder's process and its descriptors of a second
 * socket and of the tracer's library, which /proc/<pid>/fd/ leads to from other network namespaces
 * and roots (doc/blind-spots.md). 0 stands for one that is missing. The path is the second
 * socket's, for other user namespaces. */
#ifndef MT_RENDEZVOUS_MESSAGES_H
#define MT_RENDEZVOUS_MESSAGES_H

#include "core/wire.h"

#include <stdint.h>

#define MT_WIRE_ENVIRONMENT "MEMTUI_SESSION"
#define MT_WIRE_TOKEN_LEN 32

struct mt_wire_request {
	uint64_t magic;
	uint32_t version;
	uint32_t pid; /* as the program sees it; the recorder goes by SO_PEERCRED */
	/* mt_wire_header.id of the segment that a forked child inherited; 0: a new image */
	uint64_t forked_from;
	char token[MT_WIRE_TOKEN_LEN];
};

/* A second message, of a single byte, from a child that has waited too long and that its parent's
 * segment counts among the untraced now. The recorder stops reading before it looks for one: either
 * it is there, and the request is void, or it cannot be sent any more. */
#define MT_WIRE_WITHDRAWAL_LEN 1

struct mt_wire_reply {
	uint64_t magic;
	uint32_t version;
	int32_t status; /* 0, or a negative errno: the program runs untraced */
	/* If stub_bytes is not 0, the module there carries an allocator inside itself: the tracer
	 * maps so many bytes at the address stubs, readable and executable, and asks for patches */
	uint64_t stubs, stub_bytes;
	uint64_t module_start, module_end;
};

/* By further connections a process asks that the entries of a module's functions be made to lead to
 * hooks (doc/entry-patches.md). The thread that asks waits for the answer, an mt_wire_reply, which
 * names the next such module. The recorder writes the originals, the stubs, and the entries last,
 * and only while the process stands still and this thread waits: so the originals say whether
 * entries lead to hooks, whatever the answer was. */
#define MT_WIRE_PATCHES_MAGIC 0x3268637461706d65ull /* "empatch2" */
#define MT_WIRE_TRIED_MAX 16u
/* One hook of each function for each module that has one of this name: */
#define MT_WIRE_SETS 4u
struct mt_wire_patches {
	uint64_t magic;
	uint32_t version;
	uint32_t hook_count; /* 0: nothing is to be patched, the answer is what is asked for */
	uint64_t stubs;      /* where they were mapped */
	uint64_t hooks;      /* address of an array of mt_wire_hook */
	/* an address in it; without hooks: the only module that is asked about, or 0 for all */
	uint64_t module;
	uint32_t set;     /* which hooks, below MT_WIRE_SETS */
	uint32_t by_name; /* 1: the module is no allocator: all functions that have such a name */
	/* where modules begin that are not to be named again; 0 ends the list */
	uint64_t tried[MT_WIRE_TRIED_MAX];
	char token[MT_WIRE_TOKEN_LEN];
};
#define MT_WIRE_HOOKS_MAX 256
struct mt_wire_hook {
	char name[48]; /* of the function, ends in 0 */
	/* what its entry shall lead to, in each set; 0: it stays as it is */
	uint64_t hook[MT_WIRE_SETS];
	/* by the recorder: what the hook calls in its place; 0: nothing leads here */
	uint64_t original;
	uint32_t function; /* enum mt_function_id */
	/* 1: other functions have such a name, too, so only one that is exported is meant */
	uint32_t exported;
	/* by the recorder: another name of the same function is another allocator function */
	uint32_t shared;
	uint32_t plain;      /* 1: of the family whose first is malloc, or one of C++'s operators */
	uint32_t optional;   /* 1: the others lead here without this one, too */
	uint32_t named;      /* 1: the name is what the user has named the function for */
	uint32_t only_found; /* 1: `original` is the function itself, whose entry stays */
	uint64_t address;    /* by the recorder: of the function whose entry leads here */
};

/* An object as the dynamic linker has mapped it, where the C library cannot be asked for it. */
#define MT_WIRE_OBJECTS_MAX 128
struct mt_wire_object {
	uint64_t start, end, bias;
	uint64_t dynamic;  /* its dynamic section; 0: none */
	uint64_t eh_frame; /* the header of its call frame information (.eh_frame_hdr); 0: none */
	uint64_t is_program;
	char path[208];
};

/* What the recorder writes into the attached tracer (doc/attach.md) before it calls
 * mt_attached_begin and, for each module, mt_attached_lead. */
#define MT_WIRE_AUXILIARY_MAX 32
struct mt_wire_attached {
	uint64_t magic; /* MT_WIRE_MAGIC */
	uint32_t version;
	int32_t segment;                      /* descriptor, closed by mt_attached_begin */
	uint64_t own_start, own_end;          /* where the attached tracer lies */
	uint64_t loader_start, loader_end;    /* the dynamic linker's code */
	uint64_t thread_number_at;            /* of a thread's number, from its thread pointer on */
	uint64_t errno_location, find_object; /* functions of the C library; 0: there is none */
	uint64_t allocator, allocator_start, allocator_end; /* malloc, and its library */
	uint64_t auxiliary[MT_WIRE_AUXILIARY_MAX][2];       /* what the kernel told the program */
	char session[256]; /* MEMTUI_SESSION=... for forked children */
	/* the module that mt_attached_lead is called for; libc: 1 if that is the C library, whose
	 * malloc frees blocks of ended threads by calling its own free */
	uint64_t module_start, module_end;
	uint32_t is_libc;
	uint32_t set;
	uint32_t reserved;
	uint32_t hook_count; /* by mt_attached_begin */
	struct mt_wire_hook hooks[MT_WIRE_HOOKS_MAX];
	/* if there is no find_object */
	uint64_t object_count;
	struct mt_wire_object objects[MT_WIRE_OBJECTS_MAX];
};

/* How /proc/PID/maps shows a segment in the traced program begins so; a segment that the program
 * was made to make, since memtui was attached, has no more of a name. */
#define MT_WIRE_SEGMENT_PATH "/memfd:memtui"

/* The number of a signal by its name; 0: it is none of these. */
static inline uint32_t mt_signal_number(const char *name)
{
#define X(id, number) \
	if (name && !__builtin_strcmp(name, #id)) \
		return number;
	MT_SIGNAL_NUMBERS(X)
#undef X
	return 0;
}

#endif
