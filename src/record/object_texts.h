/* Texts about what goes through objects, such as items of a channel. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_OBJECT_TEXTS_H
#define HP_RECORD_OBJECT_TEXTS_H

#include <stdarg.h>

#include "objects.h"

/* Among the recent ones of the site's object, where its label is logged; else nothing is made. Leaves errno as it is. */
void hp_object_tell(struct hotpath_site *site, const struct hp_kind_type *kind, const char *format,
                    va_list arguments);

#endif
