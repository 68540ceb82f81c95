/* The page with the list of sessions. SPDX-License-Identifier: MIT */
#include "session_list.h"

#include <string.h>
#include <time.h>

#include "sessions_page.h"
#include "utf8.h"

/* Escapes names and commands, which may contain anything. */
static void put_text(struct hp_text *out, const char *text)
{
    char safe[1024];
    struct hp_text made;
    hp_text_init(&made, safe, sizeof safe);
    hp_utf8_put_safe(&made, text, strlen(text));
    hp_text_end(&made);
    for (const char *at = safe; *at != '\0'; at++) {
        const char *code = *at == '<'   ? "&lt;"
                           : *at == '>' ? "&gt;"
                           : *at == '&' ? "&amp;"
                           : *at == '"' ? "&quot;"
                                        : NULL;
        if (code != NULL)
            hp_text_string(out, code);
        else
            hp_text_char(out, *at);
    }
}

/* As a value in a URL. */
static void put_encoded(struct hp_text *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text != '\0'; text++)
        if (strchr(plain, *text) != NULL) {
            hp_text_char(out, *text);
        } else {
            hp_text_char(out, '%');
            hp_text_hex(out, (unsigned char)*text, 2);
        }
}

static void put_moment(struct hp_text *out, uint64_t unix_ns)
{
    char words[40];
    struct tm parts;
    const time_t seconds = (time_t)(unix_ns / 1000000000u);
    if (localtime_r(&seconds, &parts) != NULL && strftime(words, sizeof words, "%Y-%m-%d %H:%M:%S", &parts) > 0)
        hp_text_string(out, words);
}

static const char *state_of(const struct hp_program *program)
{
    switch (program->state) {
    case HP_PROGRAM_LIVE:
        return "live";
    case HP_PROGRAM_OFF:
        return "off";
    case HP_PROGRAM_FINISHED:
        return "finished";
    case HP_PROGRAM_CRASHED:
        return "crashed";
    case HP_PROGRAM_ELSEWHERE:
        break;
    }
    return "elsewhere";
}

static void put_row(const struct hp_program *program, const char *token, struct hp_text *out)
{
    const char *name = hp_text_base_name(program->path);
    hp_text_string(out, "<tr><td><a href=\"page?session=");
    put_encoded(out, name);
    hp_text_string(out, "&amp;token=");
    hp_text_string(out, token);
    hp_text_string(out, "\">");
    put_text(out, program->command);
    hp_text_string(out, "</a></td><td>");
    hp_text_string(out, state_of(program));
    hp_text_string(out, "</td><td>");
    hp_text_u64(out, program->pid);
    hp_text_string(out, "</td><td>");
    hp_text_u64(out, program->processes);
    hp_text_string(out, "</td><td>");
    put_moment(out, program->began_unix_ns);
    hp_text_string(out, "</td><td>");
    put_text(out, name);
    hp_text_string(out, "</td></tr>\n");
}

void hp_session_list_write(const struct hp_programs *programs, const char *token, struct hp_text *out)
{
    hp_text_bytes(out, (const char *)hp_sessions_page_head, hp_sessions_page_head_size);
    if (programs->count == 0) {
        hp_text_string(out, "<p>No session yet.</p>");
    } else {
        hp_text_string(
            out,
            "<table><thead><tr><th scope=\"col\">Program</th><th scope=\"col\">State</th><th scope=\"col\">PID</th>"
            "<th scope=\"col\">Processes</th><th scope=\"col\">Began</th><th "
            "scope=\"col\">Session</th></tr></thead><tbody>\n");
        for (size_t at = 0; at < programs->count; at++)
            put_row(&programs->all[at], token, out);
        hp_text_string(out, "</tbody></table>");
    }
    hp_text_bytes(out, (const char *)hp_sessions_page_tail, hp_sessions_page_tail_size);
}
