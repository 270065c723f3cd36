# SPDX-License-Identifier: Apache-2.0
"""What the audit adds to a run: the section, its bar and its table. Both runs read a policy; one of them switches the audit off."""
import json
import os

import peers as peer_list
from report import bar, data_of
from report_living import peers_table


def measure_audit(measure, world, hutch, effort):
    directory = world.make_dir("audit")

    def way(key, label, word):
        path = os.path.join(directory, f"{word}.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump({"audit": word}, file)
        return peer_list.prepared(key, label, lambda: ["env", f"HUTCH_POLICY={path}", hutch, "run", "--", "/bin/true"])

    compared = [way("off", "`hutch run`, the audit switched off", "off"), way("on", "`hutch run`", "on")]
    return {"peers": {peer.key: peer for peer in compared}, "times": measure.in_turn(compared, effort.rounds)}


def audit_bars(found):
    part = found.sections["audit"]

    def added():
        times = data_of(part)["times"]
        if any(key not in times or not times[key]["runs"] for key in ("on", "off")):
            raise LookupError("not measured")
        more = times["on"]["median_ms"] - times["off"]["median_ms"]
        return f"{more:.3f} ms", more <= 0.2

    return [bar("the audit adds to a run: median ≤ 0.2 ms", added)]


BARS = {"audit": audit_bars}
SECTIONS = (
    ("Audit", "audit", lambda found: peers_table(data_of(found.sections["audit"]), ("off",)),
     "The same run with its two events in the journal and without."),
)
