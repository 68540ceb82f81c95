/* Data inside of a page. SPDX-License-Identifier: MIT */
#include "page_data.h"

/* Nothing in JSON but strings has this character, and in none of them may it begin the end of a script. */
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
