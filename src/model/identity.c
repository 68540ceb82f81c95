/* Identities of rows. SPDX-License-Identifier: MIT */
#include "identity.h"

#include <string.h>

#include "arith.h"
#include "site_sums.h"
#include "text.h"

/* Limit on the bytes hashed of a text: a corrupt file may have many sites that share a very long one. */
#define MOST_BYTES 512u

uint64_t hp_identity_with_number(uint64_t identity, uint64_t number)
{
    const uint64_t mixed = hp_mixed(identity * UINT64_C(0x9e3779b97f4a7c15) + number + 1);
    return mixed != 0 ? mixed : 1;
}

uint64_t hp_identity_with_text(uint64_t identity, const char *text)
{
    return hp_identity_with_number(identity, hp_text_hash(text, strnlen(text, MOST_BYTES)));
}

uint64_t hp_identity_with_thread(uint64_t identity, const struct hp_thread_label *thread)
{
    identity = hp_identity_with_text(identity, thread->name);
    return hp_identity_with_number(identity, (uint64_t)thread->pid << 32 | thread->tid);
}

/* Uses the recorded name: a reader that demangles C++ names shows another one. */
uint64_t hp_identity_of_site(const struct hp_site_sums *site)
{
    if (site == NULL)
        return hp_identity_with_text(0, HP_OUTSIDE);
    uint64_t identity = hp_identity_with_text(0, site->recorded_name);
    identity = hp_identity_with_text(identity, site->location.function);
    identity = hp_identity_with_text(identity, site->location.file);
    identity = hp_identity_with_number(identity, (uint64_t)site->kind << 32 | site->location.line);
    return site->thread != NULL ? hp_identity_with_thread(identity, site->thread) : identity;
}

uint64_t hp_identity_of_found(const char *name, const char *library, const char *file)
{
    return hp_identity_with_text(hp_identity_with_text(hp_identity_with_text(0, name), library), file);
}
