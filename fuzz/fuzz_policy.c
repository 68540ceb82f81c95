/*
 * Policies of `hotpath check`, on any bytes: reading ends, errors have a line and a reason, and what is accepted
 * can be asked. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "input.h"
#include "policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct hp_policy policy;
    char problem[300] = "";
    char *text = malloc(size > 0 ? size : 1); /* of the exact size */
    memcpy(text, bytes, size);
    REQUIRE(hp_policy_begin(&policy));
    if (!hp_policy_read(&policy, text, size, problem, sizeof problem)) {
        REQUIRE(problem[0] >= '1' && problem[0] <= '9' && strstr(problem, ": ") != NULL);
        REQUIRE(strstr(problem, ": ")[2] != '\0');
    }
    for (size_t at = 0; at < policy.budget_count; at++) {
        REQUIRE(policy.budgets[at].pattern != NULL && policy.budgets[at].most >= 0);
        hp_policy_matches(policy.budgets[at].pattern, "parse_json", "src/json.c");
    }
    for (enum hp_limited what = 0; what < HP_LIMITED; what++)
        REQUIRE(hp_policy_limit(&policy, what, "parse_json", "src/json.c") >= 0);
    hp_policy_free(&policy);
    free(text);
    return 0;
}
