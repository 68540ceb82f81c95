/* Texts that describe items going through objects, such as items of a channel. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_OBJECT_TEXTS_H
#define HP_RECORD_OBJECT_TEXTS_H

#include <stdarg.h>

#include "objects.h"

/*
 * Adds a text to the recent ones of the site's object if its label is logged; otherwise formats nothing. Preserves
 * errno.
 */
void hp_object_tell(struct hotpath_site *site, const struct hp_kind_type *kind, const char *format,
                    va_list arguments);

#endif
