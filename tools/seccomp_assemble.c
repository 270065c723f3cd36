/* SPDX-License-Identifier: Apache-2.0 */
/* From rules to BPF.
 *
 * libseccomp's own compiler is not used: it lets a rule look at an argument once, so that "none of
 * these values" cannot be said, and all its comparisons but the masked one look at 64 bits.
 *
 * BPF jumps forward only, so the program is assembled from its end: whatever an instruction jumps
 * to is already there. A label is the number of instructions from its own to the end, both
 * included, which no later instruction changes. */
#include "seccomp_tool.h"

#include <linux/seccomp.h>

#include "init/seccomp_policy.h"

/* A conditional jump spans up to 255 instructions; two more may get between it and its target. */
enum { NEAR = 253 };

typedef size_t label;

struct assembler {
    struct sock_filter reversed[SECCOMP_LENGTH_MAX];
    size_t length;
    bool overflow;
};

/* Numbers from first up to the next range's first have the same rules. */
struct range {
    uint32_t first;
    const struct hutch_seccomp_rule *rules;
};

/* Ranges with the same rules, and between them single numbers with others: telling those apart
 * takes one comparison each instead of two. */
struct span {
    const struct range *ranges;
    size_t count;
};

/* They are tried one after the other, so there must not be many. */
enum { EXCEPTIONS_MAX = 3 };

uint32_t seccomp_return_value(int action)
{
    if (action == HUTCH_SECCOMP_ALLOW)
        return SECCOMP_RET_ALLOW;
    return SECCOMP_RET_ERRNO | ((uint32_t)action & SECCOMP_RET_DATA);
}

static label prepend(struct assembler *as, struct sock_filter instruction)
{
    if (as->length == SECCOMP_LENGTH_MAX) {
        as->overflow = true;
        return as->length;
    }
    as->reversed[as->length] = instruction;
    return ++as->length;
}

static label statement(struct assembler *as, uint16_t code, uint32_t k)
{
    return prepend(as, (struct sock_filter)BPF_STMT(code, k));
}

/* A return that is far away is repeated: it is as short as a jump to it. */
static label give(struct assembler *as, uint32_t value)
{
    for (label there = as->length; there > 0 && as->length - there < NEAR / 2; there--) {
        const struct sock_filter *instruction = &as->reversed[there - 1];
        if (instruction->code == (BPF_RET | BPF_K) && instruction->k == value)
            return there;
    }
    return statement(as, BPF_RET | BPF_K, value);
}

static label within_reach(struct assembler *as, label target)
{
    if (as->length - target < NEAR)
        return target;
    return statement(as, BPF_JMP | BPF_JA, (uint32_t)(as->length - target));
}

static label branch(struct assembler *as, uint16_t comparison, uint32_t k, label yes, label no)
{
    yes = within_reach(as, yes);
    no = within_reach(as, no);
    return prepend(as, (struct sock_filter)BPF_JUMP(BPF_JMP | comparison | BPF_K, k,
                                                    (uint8_t)(as->length - yes),
                                                    (uint8_t)(as->length - no)));
}

static label load(struct assembler *as, size_t offset)
{
    return statement(as, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static size_t count_tests(const struct hutch_seccomp_rule *rule)
{
    size_t count = 0;
    while (count < HUTCH_SECCOMP_TESTS_MAX && rule->tests[count].op != HUTCH_SECCOMP_END)
        count++;
    return count;
}

/* What has to be in the accumulator: an argument, masked unless BPF's test does that itself. */
static uint32_t operand_mask(const struct hutch_seccomp_test *test)
{
    return test->op == HUTCH_SECCOMP_ANY_BIT ? UINT32_MAX : test->mask;
}

static bool same_operand(const struct hutch_seccomp_test *a, const struct hutch_seccomp_test *b)
{
    return a->arg == b->arg && operand_mask(a) == operand_mask(b);
}

/* Is the operand of this test there already, whichever test was the one before? */
static bool is_loaded(const struct hutch_seccomp_rule *rules, size_t rule, size_t test)
{
    const struct hutch_seccomp_test *wanted = &rules[rule].tests[test];
    if (test > 0)
        return same_operand(wanted, wanted - 1);
    if (rule == 0)
        return false;
    const struct hutch_seccomp_rule *before = &rules[rule - 1];
    for (size_t i = count_tests(before); i-- > 0;) {
        if (!same_operand(wanted, &before->tests[i]))
            return false;
    }
    return true;
}

static label assemble_comparison(struct assembler *as, const struct hutch_seccomp_test *test,
                                 label yes, label no)
{
    if (test->op == HUTCH_SECCOMP_ANY_BIT)
        return branch(as, BPF_JSET, test->mask, yes, no);
    if (test->op == HUTCH_SECCOMP_DIFFERS)
        return branch(as, BPF_JEQ, test->value, no, yes);
    return branch(as, BPF_JEQ, test->value, yes, no);
}

/* Both architectures are little-endian: the low half of an argument comes first. */
static label assemble_operand(struct assembler *as, const struct hutch_seccomp_test *test)
{
    if (operand_mask(test) != UINT32_MAX)
        (void)statement(as, BPF_ALU | BPF_AND | BPF_K, test->mask);
    return load(as, offsetof(struct seccomp_data, args) + test->arg * sizeof(uint64_t));
}

static label assemble_rules(struct assembler *as, const struct hutch_seccomp_rule *rules)
{
    size_t last = 0;
    while (count_tests(&rules[last]) > 0)
        last++;
    label next = give(as, seccomp_return_value(rules[last].action));
    for (size_t i = last; i-- > 0;) {
        label here = give(as, seccomp_return_value(rules[i].action));
        for (size_t t = count_tests(&rules[i]); t-- > 0;) {
            here = assemble_comparison(as, &rules[i].tests[t], here, next);
            if (!is_loaded(rules, i, t))
                here = assemble_operand(as, &rules[i].tests[t]);
        }
        next = here;
    }
    return next;
}

static label assemble_span(struct assembler *as, const struct span *span)
{
    label here = assemble_rules(as, span->ranges[0].rules);
    for (size_t i = 1; i < span->count; i += 2) {
        label exception = assemble_rules(as, span->ranges[i].rules);
        here = branch(as, BPF_JEQ, span->ranges[i].first, exception, here);
    }
    return here;
}

/* The call's number is in the accumulator. */
static label assemble_spans(struct assembler *as, const struct span *spans, size_t count)
{
    if (count == 0)
        return give(as, seccomp_return_value(ENOSYS));
    if (count == 1)
        return assemble_span(as, spans);
    size_t half = count / 2;
    label upper = assemble_spans(as, spans + half, count - half);
    label lower = assemble_spans(as, spans, half);
    return branch(as, BPF_JGE, spans[half].ranges[0].first, upper, lower);
}

static size_t find_ranges(const struct seccomp_policy *policy, struct range *ret_ranges)
{
    size_t count = 0;
    for (uint32_t number = 0; number < SECCOMP_CALLS_MAX; number++) {
        if (count > 0 && ret_ranges[count - 1].rules == policy->rules[number])
            continue;
        ret_ranges[count++] = (struct range){number, policy->rules[number]};
    }
    return count;
}

/* How many ranges from the first on make a span: one, and two more per exception. */
static size_t span_length(const struct range *ranges, size_t count)
{
    size_t length = 1;
    while (length + 1 < count && length / 2 < EXCEPTIONS_MAX &&
           ranges[length + 1].first == ranges[length].first + 1 &&
           ranges[length + 1].rules == ranges[0].rules)
        length += 2;
    return length;
}

static size_t find_spans(const struct range *ranges, size_t count, struct span *ret_spans)
{
    size_t spans = 0;
    for (size_t i = 0; i < count;) {
        size_t length = span_length(&ranges[i], count - i);
        ret_spans[spans++] = (struct span){&ranges[i], length};
        i += length;
    }
    return spans;
}

static void assemble(struct assembler *as, const struct seccomp_policy *policy)
{
    struct range ranges[SECCOMP_CALLS_MAX] = {{0, NULL}};
    struct span spans[SECCOMP_CALLS_MAX] = {{NULL, 0}};
    size_t range_count = find_ranges(policy, ranges);
    size_t span_count = find_spans(ranges, range_count, spans);
    label kill = give(as, SECCOMP_RET_KILL_PROCESS);
    label known = assemble_spans(as, spans, span_count);
    if (policy->has_x32) {
        /* -1 is no call of x32's: it is how one asks for a call that does not exist. */
        label absent = give(as, seccomp_return_value(ENOSYS));
        label x32 = branch(as, BPF_JEQ, UINT32_MAX, absent, kill);
        known = branch(as, BPF_JGE, SECCOMP_X32_BIT, x32, known);
    }
    if (known != as->length)
        (void)statement(as, BPF_JMP | BPF_JA, (uint32_t)(as->length - known));
    known = load(as, offsetof(struct seccomp_data, nr));
    (void)branch(as, BPF_JEQ, policy->arch, known, kill);
    (void)load(as, offsetof(struct seccomp_data, arch));
}

bool seccomp_assemble(const struct seccomp_policy *policy, struct seccomp_program *ret_program)
{
    struct assembler as = {.length = 0};
    assemble(&as, policy);
    if (as.overflow)
        return false;
    for (size_t i = 0; i < as.length; i++)
        ret_program->code[i] = as.reversed[as.length - 1 - i];
    ret_program->length = as.length;
    return true;
}
