/* The state of a thread, where the dynamic linker provides for it. */
#include "preload/base/tracer.h"

__thread struct mt_thread_local mt_tls __attribute__((tls_model("initial-exec")));
