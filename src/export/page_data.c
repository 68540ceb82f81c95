/* Data inside a page. SPDX-License-Identifier: MIT */
#include "page_data.h"

/* In JSON, only strings can contain this character, and none of them may end the script element. */
bool hp_page_put_data(void *page, const char *bytes, size_t length)
{
    struct hp_text *text = page;
    for (size_t at = 0; at < length; at++)
        if (bytes[at] == '<')
            hp_text_string(text, "\\u003c");
        else
            hp_text_char(text, bytes[at]);
    return !text->is_cut;
}
