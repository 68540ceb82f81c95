/* A static inline in a header: several units have a copy, the report has one row. */
#include <hotpath.h>

static inline void shared_inline(void) { HOTPATH_MEASURE(); }
