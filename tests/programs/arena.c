/* arena: the example of memtui.h. A parser keeps the nodes of a document in an arena, which malloc
 * sees as a few large chunks: which code asked for how much is lost. Four calls bring it back: with
 * them memtui shows every node with the stack that asked for it. Usage: arena [DOCUMENTS] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memtui.h"

#define CHUNK 65536

struct chunk {
	struct chunk *next;
	size_t used;
	_Alignas(16) char data[CHUNK];
};

struct arena {
	struct chunk *chunks;
};

/* Each block is preceded by its size, so that a reset can say what it takes back. */
static void *arena_alloc(struct arena *arena, size_t size)
{
	size_t step = (size + 15) / 16 * 16 + 16;
	struct chunk *chunk = arena->chunks;
	char *at;

	if (step > CHUNK)
		return NULL;
	if (!chunk || chunk->used + step > CHUNK) {
		chunk = malloc(sizeof *chunk);
		if (!chunk)
			return NULL;
		chunk->next = arena->chunks;
		chunk->used = 0;
		arena->chunks = chunk;
	}
	at = chunk->data + chunk->used;
	chunk->used += step;
	memcpy(at, &step, sizeof step);
	memtui_pool_alloc(arena, at + 16, size);
	return at + 16;
}

static void arena_reset(struct arena *arena)
{
	while (arena->chunks) {
		struct chunk *chunk = arena->chunks;

		for (size_t at = 0, step; at < chunk->used && memtui_is_traced(); at += step) {
			memcpy(&step, chunk->data + at, sizeof step);
			memtui_pool_free(arena, chunk->data + at + 16);
		}
		arena->chunks = chunk->next;
		free(chunk);
	}
}

struct node {
	struct node *next;
	char *text;
};

static __attribute__((noinline)) struct node *parse_element(struct arena *arena, struct node *next)
{
	struct node *node = arena_alloc(arena, sizeof *node);

	if (node) {
		node->next = next;
		node->text = NULL;
	}
	return node;
}

static __attribute__((noinline)) void parse_text(struct arena *arena, struct node *node,
	unsigned number)
{
	node->text = arena_alloc(arena, 40);
	if (node->text)
		snprintf(node->text, 40, "paragraph %u", number);
}

static size_t parse(struct arena *arena, unsigned nodes)
{
	struct node *list = NULL;
	size_t len = 0;

	for (unsigned i = 0; i < nodes; i++) {
		struct node *node = parse_element(arena, list);

		if (!node)
			break;
		list = node;
		if (i % 3 == 0)
			parse_text(arena, node, i);
	}
	for (; list; list = list->next)
		len += list->text ? strlen(list->text) : 0;
	return len;
}

int main(int argc, char **argv)
{
	unsigned documents = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
	struct arena arena = {NULL};
	size_t len = 0;
	char text[64];
	void *buffer;

	memtui_pause("start"); /* what is set up once is of no interest here */
	buffer = malloc(100000);
	memtui_resume("start");
	for (unsigned i = 0; i < documents; i++) {
		snprintf(text, sizeof text, "document %u", i);
		memtui_marker(text);
		len += parse(&arena, 3000);
		if (i + 1 < documents)
			arena_reset(&arena); /* the last document is forgotten */
	}
	free(buffer);
	printf("%zu characters\n", len);
	return 0;
}
