/* Numbers with units, and parsing. SPDX-License-Identifier: MIT */
#include "units.h"

#include <inttypes.h>

#include "text.h"

struct scale {
    double factor; /* factor to the next unit */
    const char *name;
};

/*
 * Goes to the next unit while the number would show as 1000 or more, after rounding: 999.996 ns is "1.00 µs", never
 * "1000.00 ns".
 */
static void put_scaled(struct hp_text *text, double number, const struct scale *scales, unsigned count)
{
    unsigned at = 0;
    while (at + 1 < count && number >= 999.995) {
        number /= scales[at].factor;
        at++;
    }
    hp_text_format(text, "%.2f %s", number, scales[at].name);
}

void hp_units_ns(struct hp_text *text, double ns)
{
    static const struct scale scales[] = {{1e3, "ns"}, {1e3, "µs"}, {1e3, "ms"}, {1e3, "s"}};
    if (ns < 0 || ns > 0)
        put_scaled(text, ns, scales, 4);
    else
        hp_text_char(text, '0');
}

void hp_units_hz(struct hp_text *text, double hz)
{
    static const struct scale scales[] = {{1e3, "Hz"}, {1e3, "kHz"}, {1e3, "MHz"}, {1e3, "GHz"}};
    put_scaled(text, hz, scales, 4);
}

void hp_units_bytes(struct hp_text *text, uint64_t bytes)
{
    static const char *const names[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    double number = (double)bytes;
    unsigned at = 0;
    if (bytes < 1024) {
        hp_text_u64(text, bytes);
    } else {
        for (; at + 1 < sizeof names / sizeof names[0] && number >= 1023.95; at++)
            number /= 1024;
        hp_text_fixed(text, number, 1);
    }
    hp_text_format(text, " %s", names[at]);
}

void hp_units_signed_bytes(struct hp_text *text, int64_t bytes)
{
    if (bytes < 0)
        hp_text_char(text, '-');
    hp_units_bytes(text, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
}

void hp_units_percent(struct hp_text *text, double percent) { hp_text_format(text, "%.2f%%", percent); }

void hp_units_about(struct hp_text *text, uint64_t count)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    uint64_t power = 1, scale = 1;
    unsigned unit = 0;
    while (count / power >= 100)
        power *= 10;
    const uint64_t rounded = (count / power + (count % power >= power - power / 2)) * power;
    for (; rounded / scale >= 1000; unit++)
        scale *= 1000;
    hp_text_format(text, "about %" PRIu64, rounded / scale);
    if (rounded / scale < 10 && rounded % scale != 0) {
        hp_text_format(text, ".%" PRIu64, rounded % scale / (scale / 10));
    }
    hp_text_string(text, units[unit]);
}

/* Days since 1970 to a date. Years begin in March here, so that the leap day is the last of its year. */
static void put_date(struct hp_text *text, uint64_t days)
{
    days += 719468;
    const uint64_t era = days / 146097, day_of_era = days % 146097;
    const uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint64_t month_from_march = (5 * day_of_year + 2) / 153;
    const uint64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    hp_text_format(text, "%04" PRIu64 "-%02" PRIu64 "-%02" PRIu64, era * 400 + year_of_era + (month <= 2), month,
                   day_of_year - (153 * month_from_march + 2) / 5 + 1);
}

void hp_units_timestamp(struct hp_text *text, uint64_t unix_ns)
{
    const uint64_t ms = unix_ns / 1000000, seconds = ms / 1000;
    put_date(text, seconds / 86400);
    hp_text_format(text, "T%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ".%03" PRIu64 "Z", seconds / 3600 % 24,
                   seconds / 60 % 60, seconds % 60, ms % 1000);
}

uint64_t hp_units_round(double number)
{
    if (!(number > 0))
        return 0;
    return number >= 0x1p64 - 2048 ? UINT64_MAX : (uint64_t)(number + 0.5);
}

/* ------------------------------------------------------------------------------------------------------- values */

#define AS_VALUE(name, put, type)                                                                                  \
    struct hp_unit_text name(type number)                                                                          \
    {                                                                                                              \
        struct hp_unit_text value;                                                                                 \
        struct hp_text text;                                                                                       \
        hp_text_init(&text, value.bytes, sizeof value.bytes);                                                      \
        put(&text, number);                                                                                        \
        hp_text_end(&text);                                                                                        \
        return value;                                                                                              \
    }

AS_VALUE(hp_ns_text, hp_units_ns, double)
AS_VALUE(hp_bytes_text, hp_units_bytes, uint64_t)
AS_VALUE(hp_signed_bytes_text, hp_units_signed_bytes, int64_t)
AS_VALUE(hp_percent_text, hp_units_percent, double)
AS_VALUE(hp_about_text, hp_units_about, uint64_t)

/* ------------------------------------------------------------------------------------------------------ parsing */

/* strtoul and friends skip blanks, accept signs and depend on the locale; none of that is wanted here. */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t count_digits(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && is_digit(text[count]))
        count++;
    return count;
}

bool hp_number_unsigned(const char *text, size_t length, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (length == 0 || count_digits(text, length) != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (number > most)
        return false;
    *ret_number = number;
    return true;
}

/* The power of two that a unit stands for. False: not a unit. */
static bool unit_shift(const char *unit, size_t length, unsigned *ret_shift)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {
        {"", 0},     {"B", 0},  {"K", 10},  {"KB", 10},  {"KiB", 10}, {"M", 20},  {"MB", 20},
        {"MiB", 20}, {"G", 30}, {"GB", 30}, {"GiB", 30}, {"T", 40},   {"TB", 40}, {"TiB", 40},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (hp_text_equal_nocase(unit, length, units[i].name)) {
            *ret_shift = units[i].shift;
            return true;
        }
    return false;
}

bool hp_number_bytes(const char *text, size_t length, uint64_t most, uint64_t *ret_bytes)
{
    const size_t digits = count_digits(text, length);
    uint64_t number;
    unsigned shift;
    if (!unit_shift(text + digits, length - digits, &shift) ||
        !hp_number_unsigned(text, digits, most >> shift, &number))
        return false;
    *ret_bytes = number << shift;
    return true;
}

/*
 * With up to 15 digits, both the digits as an integer and the power of ten are exact in a double, so one division
 * gives the nearest double, the same as the compiler's for the literal.
 */
bool hp_number_decimal(const char *text, size_t length, double *ret_number)
{
    const size_t whole = count_digits(text, length);
    const bool has_point = whole < length && text[whole] == '.';
    const size_t fraction = has_point ? count_digits(text + whole + 1, length - whole - 1) : 0;
    if (whole + has_point + fraction != length || whole + fraction == 0 || whole + fraction > 15)
        return false;
    double digits = 0;
    double scale = 1;
    for (size_t i = 0; i < length; i++) {
        if (i == whole)
            continue;
        digits = digits * 10 + (text[i] - '0');
        if (i > whole)
            scale *= 10;
    }
    *ret_number = digits / scale;
    return true;
}

bool hp_number_flag(const char *text, size_t length, bool *ret_flag)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (hp_text_equal_nocase(text, length, words[i])) {
            *ret_flag = i % 2 == 1;
            return true;
        }
    return false;
}
