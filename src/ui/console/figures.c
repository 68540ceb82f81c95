/* Formats numbers for the console. SPDX-License-Identifier: MIT */
#include "figures.h"

#include <inttypes.h>

#include "units.h"

/* By the rounded value, so that nothing has four digits: 9.996 is "10.0". */
static unsigned decimals_of(double number) { return number < 9.995 ? 2 : number < 99.95 ? 1 : 0; }

#define LEAST_POINTS 0.05 /* less is 0, without a sign */

struct scale {
    double factor; /* to the next unit */
    const char *name;
};

static void put_scaled(struct hp_text *text, double number, const struct scale *scales, unsigned count)
{
    unsigned at = 0;
    while (at + 1 < count && number >= (scales[at].factor > 1000 ? 999.5 : scales[at].factor - 0.5)) {
        number /= scales[at].factor;
        at++;
    }
    if (number >= 99999.5) {
        hp_text_string(text, "> 99999");
        return;
    }
    hp_text_fixed(text, number, decimals_of(number));
    if (scales[at].name[0] != '\0') {
        hp_text_format(text, " %s", scales[at].name);
    }
}

static void put_ns(struct hp_text *text, double ns)
{
    static const struct scale scales[] = {{1e3, "ns"}, {1e3, "µs"}, {1e3, "ms"}, {60, "s"},
                                          {60, "m"},   {24, "h"},   {0, "d"}};
    if (ns < 999.5)
        hp_text_fixed(text, ns, 0), hp_text_string(text, " ns");
    else
        put_scaled(text, ns, scales, sizeof scales / sizeof scales[0]);
}

static void put_bytes(struct hp_text *text, double bytes)
{
    static const struct scale scales[] = {{1024, "B"},  {1024, "KB"}, {1024, "MB"}, {1024, "GB"},
                                          {1024, "TB"}, {1024, "PB"}, {1024, "EB"}};
    if (bytes < 999.5)
        hp_text_fixed(text, bytes, 0), hp_text_string(text, " B");
    else
        put_scaled(text, bytes, scales, sizeof scales / sizeof scales[0]);
}

static void put_count(struct hp_text *text, double number, bool has_decimals)
{
    static const struct scale scales[] = {{1e3, ""},  {1e3, "k"}, {1e3, "M"}, {1e3, "G"},
                                          {1e3, "T"}, {1e3, "P"}, {0, "E"}};
    if (has_decimals && number > 0 && number < 9.95) {
        hp_text_fixed(text, number, number < 0.995 ? 2 : 1);
    } else if (number < 9999.5) {
        const uint64_t whole = hp_units_round(number);
        if (whole >= 1000) {
            hp_text_format(text, "%" PRIu64 ",%03" PRIu64, whole / 1000, whole % 1000);
        } else {
            hp_text_u64(text, whole);
        }
    } else {
        put_scaled(text, number, scales, sizeof scales / sizeof scales[0]);
    }
}

static void put_percent(struct hp_text *text, double percent)
{
    hp_text_fixed(text, percent, percent < 9.95 ? 1 : 0);
    hp_text_string(text, " %");
}

static void put_figure(struct hp_text *text, enum hp_figure figure, double number)
{
    static const struct scale plain[] = {{1e3, ""},  {1e3, "k"}, {1e3, "M"}, {1e3, "G"},
                                         {1e3, "T"}, {1e3, "P"}, {0, "E"}};
    switch (figure) {
    case HP_FIGURE_NS:
        put_ns(text, number);
        break;
    case HP_FIGURE_BYTES_:
        put_bytes(text, number);
        break;
    case HP_FIGURE_PERCENT:
        put_percent(text, number);
        break;
    case HP_FIGURE_COUNT:
    case HP_FIGURE_RATE:
        put_count(text, number, figure == HP_FIGURE_RATE);
        break;
    case HP_FIGURE_THREADS:
    case HP_FIGURE_NUMBER:
        put_scaled(text, number, plain, sizeof plain / sizeof plain[0]);
        break;
    case HP_FIGURE_POINTS:
        hp_text_fixed(text, number, number < 9.95 && number >= LEAST_POINTS ? 1 : 0);
        break;
    case HP_FIGURE_ABOUT:
        hp_units_about(text, hp_units_round(number));
        break;
    case HP_FIGURE_TEXT:
        break;
    }
}

const char *hp_figure(char *bytes, enum hp_figure figure, double number)
{
    struct hp_text text;
    hp_text_init(&text, bytes, HP_FIGURE_BYTES);
    if (figure == HP_FIGURE_POINTS && number > -LEAST_POINTS && number < LEAST_POINTS)
        number = 0;
    if (number < 0)
        hp_text_char(&text, '-');
    if (number > 0 && figure == HP_FIGURE_POINTS)
        hp_text_char(&text, '+');
    put_figure(&text, figure, number < 0 ? -number : number);
    return hp_text_end(&text);
}

const char *hp_figure_clock(char *bytes, double seconds)
{
    struct hp_text text;
    const uint64_t whole = seconds > 0 ? (uint64_t)seconds : 0;
    hp_text_init(&text, bytes, HP_FIGURE_BYTES);
    if (whole >= 3600) {
        hp_text_format(&text, "%" PRIu64 ":%02" PRIu64, whole / 3600, whole / 60 % 60);
    } else {
        hp_text_u64(&text, whole / 60);
    }
    hp_text_format(&text, ":%02" PRIu64, whole % 60);
    return hp_text_end(&text);
}
