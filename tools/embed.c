/* SPDX-License-Identifier: Apache-2.0 */
/* embed NAME IN OUT: writes the file IN as a C array, apart from other constants: most runs use one
 * of such files, all of them use what would lie between. */
#include <stdio.h>

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
    for (int byte; (byte = getc(in)) != EOF; count++)
        fprintf(out, "%s%d,", count % 24 ? "" : "\n", byte);
    fprintf(out, "\n};\n");
    (void)fclose(in);
    return fclose(out) ? 1 : 0;
}
