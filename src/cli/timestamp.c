/* Parses moments of a run. SPDX-License-Identifier: MIT */
#include "timestamp.h"

#include <stdio.h>
#include <string.h>

#include "arith.h"
#include "clock.h"
#include "units.h"

/* ------------------------------------------------------------------------------------------------------ ages */

void hp_put_age(char *text, size_t size, uint64_t began_ns)
{
    const uint64_t now = hp_clock_wall_ns();
    const uint64_t seconds = now > began_ns ? (now - began_ns) / 1000000000u : 0;
    if (seconds < 120)
        snprintf(text, size, "%us ago", (unsigned)seconds);
    else if (seconds < 7200)
        snprintf(text, size, "%um ago", (unsigned)(seconds / 60));
    else if (seconds < 172800)
        snprintf(text, size, "%uh ago", (unsigned)(seconds / 3600));
    else
        snprintf(text, size, "%ud ago", (unsigned)(seconds / 86400 < 99999 ? seconds / 86400 : 99999));
}

/* ------------------------------------------------------------------------------------------------ timestamps */

static const struct {
    const char *name;
    double ns;
} units[] = {
    {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3},
};

/* 0: no such unit. */
static double unit_ns(const char *name, size_t length)
{
    for (size_t at = 0; at < sizeof units / sizeof units[0]; at++)
        if (strlen(units[at].name) == length && memcmp(units[at].name, name, length) == 0)
            return units[at].ns;
    return 0;
}

/* "1m30s": each number has a unit, larger units first; the last may have none and means seconds. */
static bool read_time(const char *text, double *ret_ns)
{
    double before = 2 * units[0].ns, sum = 0;
    while (*text != '\0') {
        const size_t digits = strspn(text, "0123456789."), letters = strspn(text + digits, "hmsu");
        const bool is_bare = letters == 0 && text[digits] == '\0';
        const double ns = is_bare ? 1e9 : unit_ns(text + digits, letters);
        double number;
        if (ns == 0 || ns >= before || !hp_number_decimal(text, digits, &number))
            return false;
        sum += number * ns;
        before = ns;
        text += digits + letters;
    }
    *ret_ns = sum;
    return before <= units[0].ns;
}

bool hp_timestamp_read(const char *text, struct hp_timestamp *ret_timestamp)
{
    const bool is_from_end = text[0] == '-';
    const char *amount = text + is_from_end;
    const size_t length = strlen(amount);
    const bool is_part = length > 0 && amount[length - 1] == '%';
    double number;
    if (!(is_part ? hp_number_decimal(amount, length - 1, &number) && number <= 100 : read_time(amount, &number)))
        return false;
    *ret_timestamp = (struct hp_timestamp){true, is_part, is_from_end, number};
    return true;
}

uint64_t hp_timestamp_in(const struct hp_timestamp *timestamp, uint64_t elapsed_ns)
{
    const double part = timestamp->is_part ? (double)elapsed_ns * timestamp->number / 100 : timestamp->number;
    const uint64_t ns = hp_units_round(part) < elapsed_ns ? hp_units_round(part) : elapsed_ns;
    return timestamp->is_from_end ? hp_less(elapsed_ns, ns) : ns;
}
