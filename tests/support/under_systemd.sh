#!/bin/bash
# Runs inside of what tests/long/systemd boots: stagewired.service as deploy/systemd/README.md sets it up.
set -euo pipefail
endpoint=unix:/run/stagewire/endpoint.sock
tls=/etc/stagewire/tls

step() {
    echo "== $*"
}
fail() {
    echo "FAILED: $*"
    journalctl -q --no-pager -u stagewired || true
    exit 1
}
trap 'fail "line $LINENO"' ERR

property() {
    systemctl show --value --property "$1" stagewired
}
expect() { # WHAT is WANTED
    [ "$(property "$1")" = "$2" ] || fail "$1 is $(property "$1"), not $2"
}
until_it_is() { # WHAT COMMAND...: within a minute
    local what=$1
    shift
    for _ in $(seq 600); do
        "$@" && return 0
        sleep 0.1
    done
    fail "$what"
}
over_tls() {
    stagewire "$1" 127.0.0.1:4317 --tls-key "$certs/watcher.key" --tls-cert "$certs/watcher.pem" \
        --tls-ca "$certs/ca.pem" "${@:2}"
}
as_trainer() {
    runuser -u trainer -- "$@"
}

step "It starts once it is told what to serve, as a user of its own"
work=$(mktemp -d)
certs=$work/certs
stagewire certs dev --out "$certs" --stages 1 >/dev/null
install -d -m 755 "$tls"
install_certificates() {
    for pair in stage-0.key:tls.key stage-0.pem:tls.crt ca.pem:ca.crt; do
        install -o root -g stagewire-certs -m 640 "$certs/${pair%:*}" "$tls/${pair#*:}"
    done
}
install_certificates
install -D -m 644 /usr/share/doc/stagewired/examples/stagewired.conf /etc/stagewire/stagewired.conf
cat >>/etc/stagewire/stagewired.conf <<CONF
listen = 127.0.0.1:4317
tls-key = $tls/tls.key
tls-cert = $tls/tls.crt
tls-ca = $tls/ca.crt
CONF
systemctl enable --quiet --now stagewired
expect ActiveState active
expect DynamicUser yes
[ "$(stat -c %U "/proc/$(property MainPID)")" != root ]
case $(property StatusText) in "serving on "*) ;; *) fail "its status is '$(property StatusText)'" ;; esac

step "Who is in the group stagewire publishes over the Unix socket, and nobody else does"
useradd -G stagewire trainer
useradd stranger
echo '{"loss": 0.25}' | as_trainer stagewire publish $endpoint train 7
as_trainer stagewire get $endpoint train 7 | grep -q 0.25
if runuser -u stranger -- stagewire info $endpoint --timeout 2s 2>/dev/null; then fail "a stranger got in"; fi

step "Others pull over mTLS, and certificates that are replaced are taken without a restart"
over_tls get train 7 | grep -q 0.25
main=$(property MainPID)
rm -r "$certs"
stagewire certs dev --out "$certs" --stages 1 >/dev/null
install_certificates
until_it_is "the new certificates are not taken" over_tls get train 7 >/dev/null 2>&1
[ "$(property MainPID)" = "$main" ]

step "A restart drains, and who waits meanwhile is served by the new process"
stagewire get $endpoint train 8 --timeout 60s >"$work/waited" &
waiter=$!
until_it_is "nobody waits" sh -c "stagewire info $endpoint --json | grep -q '\"waiting\": *1'"
systemctl restart stagewired
expect Result success
[ "$(property MainPID)" != "$main" ]
echo '{"loss": 0.125}' | as_trainer stagewire publish $endpoint train 8
wait $waiter
grep -q 0.125 "$work/waited"

step "One that is killed comes back, and one that is stuck is ended by the watchdog and comes back"
main=$(property MainPID)
kill -KILL "$main"
until_it_is "it is not started again" sh -c "[ \$(systemctl show --value -p NRestarts stagewired) -ge 1 ]"
until_it_is "it does not serve again" stagewire info $endpoint --timeout 1s >/dev/null
kill -STOP "$(property MainPID)"
until_it_is "the watchdog does not bite" sh -c "[ \$(systemctl show --value -p NRestarts stagewired) -ge 2 ]"
until_it_is "it does not serve again" stagewire info $endpoint --timeout 1s >/dev/null
journalctl -q -u stagewired | grep -q -i watchdog

step "What is wrong in its configuration stands in the journal, and it is not started over and over"
cp /etc/stagewire/stagewired.conf "$work/good.conf"
systemctl stop stagewired
echo "colour = red" >>/etc/stagewire/stagewired.conf
if systemctl start stagewired 2>/dev/null; then fail "it starts with a wrong configuration"; fi
expect SubState failed
journalctl -q -u stagewired | grep -q colour
systemctl stop stagewired
cp "$work/good.conf" /etc/stagewire/stagewired.conf

step "Certificates that no group may read come from systemd"
chown root:root $tls/*
chmod 600 $tls/*
sed -i '/^tls-/d' /etc/stagewire/stagewired.conf
install -D -m 644 /shipped/credentials.conf /etc/systemd/system/stagewired.service.d/credentials.conf
systemctl daemon-reload
systemctl reset-failed stagewired || true
systemctl start stagewired
echo '{"loss": 0.5}' | as_trainer stagewire publish $endpoint train 9
over_tls get train 9 | grep -q 0.5

step "It stops as one that has done its work"
systemctl stop stagewired
expect Result success
expect ExecMainStatus 0
[ ! -e /run/stagewire ]
echo "all is well"
