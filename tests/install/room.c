/* Takes BYTES of the room that the C library has for thread-local storage of libraries that are opened later. */
static __thread char taken[BYTES] __attribute__((tls_model("initial-exec"), used));

char *take_room(void);

char *take_room(void) { return taken; }
