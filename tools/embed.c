/* SPDX-License-Identifier: Apache-2.0 */
/* embed NAME IN OUT: writes the file IN as a C array, apart from other constants: most runs use one
 * of such files, all of them use what would lie between. NAME_SUM, in capitals, tells one content
 * from another (FNV-1a). */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

static void define_sum(FILE *out, const char *name, uint64_t sum)
{
    fprintf(out, "#define ");
    for (; *name; name++)
        putc(toupper((unsigned char)*name), out);
    fprintf(out, "_SUM \"%016" PRIx64 "\"\n", sum);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    FILE *in = fopen(argv[2], "rb");
    FILE *out = fopen(argv[3], "w");
    if (!in || !out)
        return 1;
    fprintf(out, "static const unsigned char %s[] __attribute__((section(\".images\"))) = {",
            argv[1]);
    unsigned count = 0;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (int byte; (byte = getc(in)) != EOF; count++) {
        fprintf(out, "%s%d,", count % 24 ? "" : "\n", byte);
        sum = (sum ^ (unsigned)byte) * UINT64_C(0x100000001b3);
    }
    fprintf(out, "\n};\n");
    define_sum(out, argv[1], sum);
    (void)fclose(in);
    return fclose(out) ? 1 : 0;
}
