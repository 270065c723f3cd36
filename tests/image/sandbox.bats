#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sandboxes that stay, on an image.

# shellcheck disable=SC2016,SC2034  # much is expanded inside; the rows of a table are read by their names

load ../lib
load ../integration/words
load ../sandbox/words
load images

setup() { setup_world; }

@test "create pins the image: its name may come to mean another" {
    local digest
    digest=$(base_image)
    create box --image base
    same "what inspect shows" "base@$digest" "$(hutch inspect box | jq -r .spec.image)"
    base_image base 'layer({"etc/motd": "new\n"})' >/dev/null
    same "the sandbox" hello "$(inside box 'cat /etc/motd')"
    same "a new run" new "$(hutch run --image base -- cat /etc/motd)"
    call stop box
    call start box
    same "after a start" hello "$(inside box 'cat /etc/motd')"
    hutch rm -f box
}

@test "without a command the image's own runs, and runs again at every start; exec goes on when it has ended" {
    base_image >/dev/null
    create box --image base
    until_true 5 grep -qx default <(hutch logs box)
    same "exec" "1000 /workspace image" "$(inside box 'echo $(id -u) $(pwd) $MODE')"
    call stop box
    same "exit status of stop" 0 "$status"
    call start box
    same "exit status of start" 0 "$status"
    until_true 5 eval '[ "$(hutch logs box | grep -cx default)" = 2 ]'
    hutch rm -f box
    base_image quiet 'config(cmd=[])' >/dev/null
    create box --image quiet
    same "one without any" still "$(inside box 'echo still')"
    same "its processes" "" "$(hutch ps box --json | jq -r '.commands[]')"
    hutch rm -f box
}

@test "exec: user and variables of the image, and those of the call over them" {
    base_image box 'config(user="bob", env=["PATH=/bin", "A=image"], workdir="/dir")' >/dev/null
    create box --image box
    same "as it is" "1234 1235 image /dir /home/bob" "$(inside box 'echo $(id -u) $(id -g) $A $(pwd) $HOME')"
    same "with another variable" call "$(hutch exec -e A=call box -- sh -c 'echo $A')"
    if [ "$HUTCH_TEST_AS" = root ]; then
        same "as another user" "0 /root" "$(hutch exec -u root box -- sh -c 'echo $(id -u) $HOME')"
        call exec -u nobody box -- true
        same "one that the image does not have" 125 "$status"
    fi
    hutch rm -f box
}

@test "stop tells the image's command by the image's signal" {
    base_image box 'config(stop_signal="SIGUSR1", cmd=["sh", "-c", "trap \"echo usr1; exit 0\" USR1; trap \"echo term; exit 0\" TERM; echo up; while :; do sleep 0.05; done"])' >/dev/null
    create box --image box
    until_true 5 eval 'hutch logs box | grep -qx up'
    call stop box
    same "what it heard" "up usr1" "$(hutch logs box | tr '\n' ' ' | sed 's/ $//')"
    hutch rm -f box
}

@test "diff is against the image as all its layers show it" {
    base_image base 'layer({"dir/c": "c", "dir/a": WHITEOUT}); config(cmd=[], workdir="/opt/w")' >/dev/null
    layers_state >"$WORK/before"
    create box --image base -u 0
    same "at first" "" "$(hutch diff box)"
    inside box 'echo x >/dir/new; rm /dir/b; echo y >>/etc/motd; rm -r /bin/ls; touch /dir/c; mkdir /etc/d; chmod 700 /etc/group'
    same "afterwards" "deleted /bin/ls deleted /dir/b added /dir/new added /etc/d metadata /etc/group modified /etc/motd" \
        "$(hutch diff box | tr -s ' \n' ' ' | sed 's/ $//')"
    layers_state | diff "$WORK/before" - >&2
    hutch rm -f box
    image none >/dev/null <<'EOF'
EOF
    create box --image none
    same "an image without layers" "" "$(hutch diff box)"
    hutch rm -f box
}

@test "cp in and out, with the image's users" {
    base_image >/dev/null
    create box --image base -u bob
    echo in >"$WORK/file" && chmod 644 "$WORK/file"
    call cp "$WORK/file" box:/tmp/file
    same "exit status" 0 "$status"
    [ "$HUTCH_TEST_AS" != root ] || same "whose it is" 1234 "$(inside box 'stat -c %u /tmp/file')"
    call cp box:/etc/motd "$(user_dir there)/motd"
    same "what came" hello "$(cat "$WORK/there/motd")"
    hutch rm -f box
}

@test "fork and snapshot share the image" {
    needs_disk
    local digest
    digest=$(base_image base 'config(cmd=[])')
    create box --image base -u 0
    inside box 'echo mine >/dir/mine; rm /dir/a'
    call fork box two
    same "exit status of fork" 0 "$status"
    same "its image" "base@$digest" "$(hutch inspect two | jq -r .spec.image)"
    same "its files" "b mine" "$(inside two 'ls /dir | tr "\n" " "' | sed 's/ $//')"
    inside two 'echo other >/dir/mine'
    same "the first one's" mine "$(inside box 'cat /dir/mine')"
    hutch rm -f box two
}

@test "start after the image has gone says what to do, and works when it is back" {
    needs_disk
    local digest record
    digest=$(base_image base 'config(cmd=[])')
    record=$HUTCH_HOME/lib/images/images/${digest#sha256:}
    create box --image base
    call stop box
    mv "$record" "$WORK/record"
    call start box
    same "exit status" 125 "$status"
    says "what to do" "sandbox 'box' needs its image 'base@sha256:.*hutch image pull"
    same "its state" stopped "$(state_of box)"
    mv "$WORK/record" "$record"
    call start box
    same "exit status" 0 "$status"
    same "it lives" hello "$(inside box 'cat /etc/motd')"
    hutch rm -f box
    world_snapshot
}

@test "create of an image that is not there leaves nothing" {
    call create --name box --image nothing --pull never
    same "exit status" 125 "$status"
    same "sandboxes" "" "$(hutch ls -q)"
    base_image bad 'config(workdir="relative")' >/dev/null
    call create --name box --image bad
    same "exit status" 125 "$status"
    base_image bad 'config(cmd=["/not/there"])' >/dev/null
    call create --name box --image bad
    same "exit status where its command is not there" 127 "$status"
    says "which command" "'/not/there'"
    same "sandboxes" "" "$(hutch ls -q)"
}
