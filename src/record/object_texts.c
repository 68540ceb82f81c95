/* Texts that describe items going through objects. SPDX-License-Identifier: MIT */
#include "object_texts.h"

#include <errno.h>
#include <stdio.h>

#include "sites.h"

/* Texts belong to the class, as histograms do: records of instances are reused. */
static void remember(struct hotpath_site *site, const struct hp_kind_type *kind, const char *text, size_t length)
{
    struct hp_object_use use;
    if (!hp_object_begin(site, kind, &use))
        return;
    if (!hp_object_is_paused(&use))
        hp_object_remember(&use, &(struct hp_recent){.tick = use.now, .bits = length, .type = HP_VALUE_TEXT}, text);
    hp_object_end(&use);
}

/* Formats the text with nothing held, since formatting may run zones itself. */
__attribute__((format(printf, 3, 0))) void
hp_object_tell(struct hotpath_site *site, const struct hp_kind_type *kind, const char *format, va_list arguments)
{
    const int saved = errno;
    const uint32_t id = hp_page() != NULL ? hp_site_id(site) : HOTPATH_IDS_;
    if (id < HOTPATH_IDS_ && hp_site_is_logged(id)) {
        char text[HP_RECENT_TEXT + 1];
        const int length = vsnprintf(text, sizeof text, format, arguments);
        if (length >= 0)
            remember(site, kind, text, (size_t)length < HP_RECENT_TEXT ? (size_t)length : HP_RECENT_TEXT);
    }
    errno = saved;
}
