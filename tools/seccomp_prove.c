/* SPDX-License-Identifier: Apache-2.0 */
/* The proof of a filter before it is written: a BPF machine of a few lines runs it, and what it
 * answers is compared with the rules read naively, one after the other. */
#include "seccomp_tool.h"

#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "init/seccomp_policy.h"

enum {
    ANSWERS_OF_CALL = 64,
    ANSWERS_OF_CHECKED_CALL = 50000, /* one whose arguments are looked at */
    FOREIGN_ARCH = 0x40000003        /* AUDIT_ARCH_I386: what int 0x80 makes of a call */
};

/* Returns false for a program that leaves the instructions it may have. */
static bool run(const struct seccomp_program *program, const struct seccomp_data *data,
                uint32_t *ret_value)
{
    uint32_t accumulator = 0;
    for (size_t at = 0; at < program->length; at++) {
        const struct sock_filter *in = &program->code[at];
        switch (in->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (in->k > sizeof(*data) - sizeof(accumulator))
                return false;
            memcpy(&accumulator, (const char *)data + in->k, sizeof(accumulator));
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            accumulator &= in->k;
            break;
        case BPF_JMP | BPF_JA:
            at += in->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            at += accumulator == in->k ? in->jt : in->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            at += accumulator >= in->k ? in->jt : in->jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            at += accumulator & in->k ? in->jt : in->jf;
            break;
        case BPF_RET | BPF_K:
            *ret_value = in->k;
            return true;
        default:
            return false;
        }
    }
    return false;
}

static bool holds(const struct hutch_seccomp_test *test, const struct seccomp_data *data)
{
    uint32_t masked = (uint32_t)data->args[test->arg] & test->mask;
    switch (test->op) {
    case HUTCH_SECCOMP_EQUAL:
        return masked == test->value;
    case HUTCH_SECCOMP_DIFFERS:
        return masked != test->value;
    case HUTCH_SECCOMP_ANY_BIT:
        return masked != 0;
    case HUTCH_SECCOMP_END:
        break;
    }
    return true;
}

static bool applies(const struct hutch_seccomp_rule *rule, const struct seccomp_data *data)
{
    for (size_t i = 0; i < HUTCH_SECCOMP_TESTS_MAX; i++) {
        if (!holds(&rule->tests[i], data))
            return false;
    }
    return true;
}

static uint32_t expected(const struct seccomp_policy *policy, const struct seccomp_data *data)
{
    uint32_t number = (uint32_t)data->nr;
    if (data->arch != policy->arch)
        return SECCOMP_RET_KILL_PROCESS;
    if (policy->has_x32 && number >= SECCOMP_X32_BIT && number != UINT32_MAX)
        return SECCOMP_RET_KILL_PROCESS;
    if (number >= SECCOMP_CALLS_MAX)
        return seccomp_return_value(ENOSYS);
    const struct hutch_seccomp_rule *rule = policy->rules[number];
    while (!applies(rule, data))
        rule++;
    return seccomp_return_value(rule->action);
}

static bool agrees(const struct seccomp_policy *policy, const struct seccomp_program *program,
                   const struct seccomp_data *data)
{
    uint32_t wanted = expected(policy, data);
    uint32_t got = 0;
    if (run(program, data, &got) && got == wanted)
        return true;
    (void)fprintf(stderr,
                  "gen_seccomp: call %d of architecture %#x with (%#llx, %#llx, %#llx, %#llx, "
                  "%#llx): the filter answers %#x, the policy %#x\n",
                  data->nr, data->arch, (unsigned long long)data->args[0],
                  (unsigned long long)data->args[1], (unsigned long long)data->args[2],
                  (unsigned long long)data->args[3], (unsigned long long)data->args[4], got,
                  wanted);
    return false;
}

/* xorshift64: the same sequence in every build. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* An argument that is likely to meet, or just to miss, one of the tests of these rules; what is
 * above the low 32 bits is always noise. */
static uint64_t draw_argument(const struct hutch_seccomp_rule *rules, uint32_t arg, uint64_t *state)
{
    uint64_t noise = draw(state);
    uint64_t high = noise & ~(uint64_t)UINT32_MAX;
    size_t wanted = draw(state) % SECCOMP_RULES_OF_A_CALL_MAX;
    for (const struct hutch_seccomp_rule *rule = rules;; rule++) {
        for (size_t i = 0; i < HUTCH_SECCOMP_TESTS_MAX; i++) {
            const struct hutch_seccomp_test *test = &rule->tests[i];
            if (test->op == HUTCH_SECCOMP_END || test->arg != arg || wanted-- > 0)
                continue;
            uint32_t near_miss = draw(state) % 4 ? 0 : UINT32_C(1) << draw(state) % 32;
            uint32_t outside_mask = draw(state) % 2 ? (uint32_t)noise & ~test->mask : 0;
            return high | ((test->value | outside_mask) ^ near_miss);
        }
        if (rule->tests[0].op == HUTCH_SECCOMP_END)
            break;
    }
    return draw(state) % 2 ? noise : high;
}

/* Whatever number is answered without rules may have any arguments: those of call 0 will do. */
static const struct hutch_seccomp_rule *rules_of(const struct seccomp_policy *policy, uint32_t arch,
                                                 uint32_t number)
{
    if (arch != policy->arch || number >= SECCOMP_CALLS_MAX)
        return policy->rules[0];
    return policy->rules[number];
}

static bool prove_call(const struct seccomp_policy *policy, const struct seccomp_program *program,
                       uint32_t arch, uint32_t number)
{
    const struct hutch_seccomp_rule *rules = rules_of(policy, arch, number);
    bool is_checked = rules->tests[0].op != HUTCH_SECCOMP_END;
    size_t answers = is_checked ? ANSWERS_OF_CHECKED_CALL : ANSWERS_OF_CALL;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) + number;
    struct seccomp_data data = {.nr = (int)number, .arch = arch};
    while (answers-- > 0) {
        for (uint32_t arg = 0; arg < 6; arg++)
            data.args[arg] = draw_argument(rules, arg, &state);
        if (!agrees(policy, program, &data))
            return false;
    }
    return true;
}

bool seccomp_prove(const struct seccomp_policy *policy, const struct seccomp_program *program)
{
    static const uint32_t beyond[] = {SECCOMP_CALLS_MAX,       SECCOMP_X32_BIT - 1, INT32_MAX,
                                      (uint32_t)INT32_MAX + 1, UINT32_MAX - 1,      UINT32_MAX};
    for (uint32_t number = 0; number < 2 * SECCOMP_CALLS_MAX; number++) {
        if (!prove_call(policy, program, policy->arch, number) ||
            !prove_call(policy, program, policy->arch, number | SECCOMP_X32_BIT) ||
            !prove_call(policy, program, FOREIGN_ARCH, number))
            return false;
    }
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        if (!prove_call(policy, program, policy->arch, beyond[i]))
            return false;
    }
    return true;
}
