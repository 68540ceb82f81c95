/* Data inside of a page. SPDX-License-Identifier: MIT */
#ifndef HP_EXPORT_PAGE_DATA_H
#define HP_EXPORT_PAGE_DATA_H

#include "text.h"

/* A sink for JSON that stands in a page, into the text `page`: nothing in it can end the script that it is in. */
bool hp_page_put_data(void *page, const char *bytes, size_t length);

#endif
