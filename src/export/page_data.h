/* Data inside a page. SPDX-License-Identifier: MIT */
#ifndef HP_EXPORT_PAGE_DATA_H
#define HP_EXPORT_PAGE_DATA_H

#include "text.h"

/* A sink that adds JSON to the text `page`: nothing in it can end the script element around it. */
bool hp_page_put_data(void *page, const char *bytes, size_t length);

#endif
