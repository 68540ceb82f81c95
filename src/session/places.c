/* Where sessions are. SPDX-License-Identifier: MIT */
#include "places.h"

#include <unistd.h>

#include "process.h"
#include "text.h"

static void put_runtime_folder(struct hp_text *place)
{
    const char *runtime = hp_environment("XDG_RUNTIME_DIR");
    if (runtime == NULL || runtime[0] != '/')
        return;
    hp_text_string(place, runtime);
    hp_text_string(place, "/hotpath");
}

static void put_folder_of_user(struct hp_text *place, const char *folder)
{
    hp_text_string(place, folder);
    hp_text_string(place, "/hotpath-");
    hp_text_u64(place, geteuid());
}

bool hp_place(const struct hp_settings *settings, unsigned n, char *text, size_t size)
{
    struct hp_text place;
    hp_text_init(&place, text, size);
    const bool is_chosen = settings->dir[0] != '\0';
    if (is_chosen)
        hp_text_string(&place, settings->dir);
    else if (n == 0)
        put_runtime_folder(&place);
    else
        put_folder_of_user(&place, n == 1 ? "/dev/shm" : "/tmp");
    hp_text_end(&place);
    return n < (is_chosen ? 1 : 3); /* the user chose: no other place behind his back */
}
