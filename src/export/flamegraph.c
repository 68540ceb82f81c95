/*
 * A flame graph as a self-contained SVG: no script, no font, no network. Callers are below their callees; the
 * wider, the more. Boxes too narrow to be seen are not drawn, so the file stays small however large the run was.
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "export.h"
#include "units.h"
#include "utf8.h"
#include "weighted.h"

#define WIDTH 1200.0
#define MARGIN 10.0
#define ROW 18u
#define HEAD 64u
#define FOOT 24u
#define NARROWEST 0.3 /* pixels */
#define LETTER 6.7    /* approximate width of a letter */

struct picture {
    const struct hp_export *export;
    struct hp_text *text;
    struct hp_weight_walk walk;
    uint64_t total;
    size_t rows; /* that are drawn */
};

static void put_escaped(struct hp_text *text, const char *string, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        const char c = string[at];
        if (c == '&')
            hp_text_string(text, "&amp;");
        else if (c == '<')
            hp_text_string(text, "&lt;");
        else if (c == '>')
            hp_text_string(text, "&gt;");
        else if (c == '"')
            hp_text_string(text, "&quot;");
        else
            hp_text_char(text, c);
    }
}

static void put_string(struct hp_text *text, const char *string) { put_escaped(text, string, strlen(string)); }

static void put_weight(const struct picture *picture, struct hp_text *text, uint64_t weight)
{
    if (hp_export_type(picture->export, 0)->unit == HP_WEIGHT_BYTES)
        hp_units_bytes(text, weight);
    else if (hp_export_type(picture->export, 0)->unit == HP_WEIGHT_INSTRUCTIONS)
        hp_text_format(text, "%" PRIu64 " instructions", weight);
    else
        hp_units_ns(text, (double)weight);
}

/* ------------------------------------------------------------------------------------------------------ size */

static double width_of(const struct picture *picture, uint64_t weight)
{
    return (double)weight / (double)picture->total * (WIDTH - 2 * MARGIN);
}

static bool is_drawn(const struct picture *picture, uint32_t node)
{
    return width_of(picture, picture->walk.inside[node]) >= NARROWEST;
}

static void measure(void *context, uint32_t node, uint64_t where, size_t depth)
{
    struct picture *picture = context;
    (void)where;
    if (is_drawn(picture, node) && depth + 1 > picture->rows)
        picture->rows = depth + 1;
}

static void skip(void *picture, uint32_t node, uint64_t where, size_t depth)
{
    (void)picture;
    (void)node;
    (void)where;
    (void)depth;
}

static uint64_t height_of(const struct picture *picture) { return HEAD + ROW * picture->rows + FOOT; }

/* ---------------------------------------------------------------------------------------------------- frames */

/* One colour per library, warm ones for code in none. */
static void put_color(const struct picture *picture, struct hp_text *text, uint32_t function)
{
    const char *library = hp_weighted_library_name(picture->export->weighted, function);
    const char *name = picture->export->weighted->functions[function].name;
    const uint64_t shade = hp_text_hash(name, strlen(name)) >> 20;
    const uint64_t hue = library[0] != '\0' ? (hp_text_hash(library, strlen(library)) >> 16) % 360 : 24;
    hp_text_format(text, "hsl(%" PRIu64 ",68%%,%" PRIu64 "%%)", hue, 66 + shade % 9);
}

/* The tooltip. */
static void put_title(const struct picture *picture, uint32_t node)
{
    struct hp_text *text = picture->text;
    const struct hp_weighted *weighted = picture->export->weighted;
    const uint32_t function = weighted->nodes[node].function;
    const char *library = hp_weighted_library_name(weighted, function);
    hp_text_string(text, "<title>");
    put_string(text, weighted->functions[function].name);
    if (library[0] != '\0') {
        hp_text_string(text, "\n");
        put_string(text, library);
    }
    hp_text_string(text, "\n");
    put_weight(picture, text, picture->walk.inside[node]);
    hp_text_format(text, ", %.2f %%</title>", 100 * (double)picture->walk.inside[node] / (double)picture->total);
}

static void put_label(const struct picture *picture, uint32_t node, double width)
{
    char bytes[512];
    struct hp_text label;
    const char *name = picture->export->weighted->functions[picture->export->weighted->nodes[node].function].name;
    if (width < 4 * LETTER)
        return;
    hp_text_init(&label, bytes, sizeof bytes);
    hp_utf8_put_fitted(&label, name, strlen(name), (size_t)((width - 6) / LETTER));
    hp_text_string(picture->text, "<text x=\"3\" y=\"13\">");
    put_escaped(picture->text, label.bytes, label.length);
    hp_text_string(picture->text, "</text>");
}

static void draw(void *context, uint32_t node, uint64_t where, size_t depth)
{
    const struct picture *picture = context;
    struct hp_text *text = picture->text;
    const double width = width_of(picture, picture->walk.inside[node]);
    if (!is_drawn(picture, node))
        return;
    hp_text_format(text, "<g transform=\"translate(%.2f,%zu)\">", MARGIN + width_of(picture, where),
                   HEAD + ROW * (picture->rows - depth - 1));
    put_title(picture, node);
    hp_text_format(text, "<rect width=\"%.2f\" height=\"17\" rx=\"2\" fill=\"", width > 1 ? width - 0.5 : width);
    put_color(picture, text, picture->export->weighted->nodes[node].function);
    hp_text_string(text, "\"/>");
    put_label(picture, node, width);
    hp_text_string(text, "</g>\n");
}

/* ------------------------------------------------------------------------------------------------------ whole */

static void put_head(const struct picture *picture)
{
    struct hp_text *text = picture->text;
    char bytes[512];
    struct hp_text command;
    hp_text_format(text,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"%" PRIu64
                   "\" viewBox=\"0 0 1200 %" PRIu64 "\">\n"
                   "<style>\n"
                   "svg { background: #fff; font: 11px ui-monospace, Menlo, Consolas, monospace; }\n"
                   "text { fill: #1b1b1f; } .head { font: 600 16px system-ui, sans-serif; }\n"
                   ".about { font: 12px system-ui, sans-serif; fill: #666; }\n"
                   "g:hover rect { stroke: #1b1b1f; stroke-width: 1; }\n"
                   "</style>\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                   "<text class=\"head\" x=\"10\" y=\"26\">",
                   height_of(picture), height_of(picture));
    put_string(text, hp_export_type(picture->export, 0)->title);
    hp_text_string(text, "</text>\n<text class=\"about\" x=\"10\" y=\"46\">");
    hp_text_init(&command, bytes, sizeof bytes);
    hp_utf8_put_fitted(&command, picture->export->command, strlen(picture->export->command), 120);
    put_escaped(text, command.bytes, command.length);
    hp_text_string(text, " \xc2\xb7 ");
    put_weight(picture, text, picture->total);
    hp_text_string(text, "</text>\n");
}

static bool write(const struct hp_export *export, struct hp_text *text)
{
    struct picture picture = {.export = export, .text = text, .total = hp_export_weights(export, 0)->total};
    const bool has_memory = hp_walk_begin(&picture.walk, export->weighted, hp_export_weights(export, 0));
    if (has_memory) {
        hp_walk_through(&picture.walk, measure, skip, &picture);
        put_head(&picture);
        hp_walk_through(&picture.walk, draw, skip, &picture);
        hp_text_string(text, "</svg>\n");
    }
    hp_walk_end(&picture.walk);
    return has_memory;
}

const struct hp_export_format hp_format_flamegraph = {
    .name = "flamegraph",
    .is_of_one = true,
    .write = write,
};
