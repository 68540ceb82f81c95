/* Sessions that change while they are read. SPDX-License-Identifier: MIT */
#include "between_loads.h"

#include <stdlib.h>

struct fuzz_between fuzz_between;

void fuzz_before_load(void)
{
    if (fuzz_between.happen == NULL || fuzz_between.input.left == 0)
        return;
    if (fuzz_between.calm > 0)
        fuzz_between.calm--;
    else
        fuzz_between.happen();
}

bool fuzz_read_live(void *context, uint32_t offset, void *to, size_t bytes)
{
    const struct fuzz_session *live = &fuzz_between.live;
    (void)context;
    fuzz_before_load();
    if (fuzz_between.is_cut || offset > live->size || bytes > live->size - offset)
        return false;
    memcpy(to, live->bytes + offset, bytes);
    return true;
}

struct fuzz_session fuzz_copy_of(const struct fuzz_session *session)
{
    struct fuzz_session copy = {calloc(1, session->size + 8), session->size};
    REQUIRE(copy.bytes != NULL);
    memcpy(copy.bytes, session->bytes, session->size);
    return copy;
}
