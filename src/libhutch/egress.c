/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/gateway.h"
#include "backend/native/sandbox.h"
#include "hutch/hutch.h"
#include "libhutch/scratch.h"

/* The table lies in its home: nobody has to be asked, and it outlives a stop. */
int hutch_sandbox_egress(struct hutch_sandbox *sandbox, struct hutch_egress **ret_egress,
                         struct hutch_error *err)
{
    struct hutch_egress *egress = NULL;
    OR_SCRATCH(err);
    if (egress_table_look(sandbox->home.dir, &egress, err) < 0)
        return -(int)err->code;
    if (!egress)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                          "sandbox '%s' was made without egress: nothing can go out of it",
                          sandbox->home.name);
    *ret_egress = egress;
    return 0;
}
