/* Every function and type of the control API. C and C++ compile this same file; see api.cc. */
#include <hotpath.h>

void api_reporter(const hotpath_results *results, void *context);
int api_control(void);

void api_reporter(const hotpath_results *results, void *context)
{
    double *sum = (double *)context;
    *sum += (double)hotpath_results_elapsed_ns(results);
    *sum += hotpath_results_label(results)[0];
    for (size_t i = 0; i < hotpath_results_sections(results); i++) {
        const hotpath_section *section = hotpath_results_section(results, i);
        *sum += hotpath_section_name(section)[0] + hotpath_section_description(section)[0];
        *sum += (double)hotpath_section_total_rows(section);
        for (size_t row = 0; row < hotpath_section_rows(section); row++) {
            for (size_t column = 0; column < hotpath_section_columns(section); column++) {
                const struct hotpath_column *title = hotpath_section_column(section, column);
                struct hotpath_cell cell;
                if (hotpath_section_cell(section, row, column, &cell) == HOTPATH_OK && cell.has_value &&
                    title->unit == (uint32_t)HOTPATH_UNIT_NS)
                    *sum += cell.number;
            }
        }
    }
}

int api_control(void)
{
    struct hotpath_options options;
    double sum = 0;
    for (size_t i = 0; i < sizeof options; i++)
        ((char *)&options)[i] = 0;
    options.size = sizeof options;
    options.limit = HOTPATH_NO_LIMIT;
    hotpath_set_reporter(api_reporter, &sum);
    int status = hotpath_start(&options);
    if (status != HOTPATH_OK && status != HOTPATH_E_OFF)
        return hotpath_strerror(status)[0];
    status = hotpath_report() + hotpath_stop();
    return status + hotpath_version()[0] + hotpath_session_path()[0] + HOTPATH_VERSION[0] +
           HOTPATH_VERSION_MAJOR * 10000 + HOTPATH_VERSION_MINOR * 100 + HOTPATH_VERSION_PATCH;
}
