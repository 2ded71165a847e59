#include "session.h"

#include <stdlib.h>

/* A session lives until its connection ends. */
struct session *session_new(struct server *server)
{
	struct session *session;

	session = malloc(sizeof *session);
	if (!session)
		return NULL;
	session->server = server;
	session->buffer = buffer_new(4096);
	return session;
}

void session_free(struct session *session)
{
	buffer_free(session->buffer);
}
