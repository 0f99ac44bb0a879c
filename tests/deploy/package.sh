#!/bin/sh
# Installs, upgrades under load, removes and purges the Debian package in a copy of this machine's root that is gone at the
# end: `unshare --mount tests/deploy/package.sh FOLDER OLD.deb NEW.deb PORT CONFIG`. FOLDER is empty. There is no systemd
# in it: a `systemctl` that knows the two commands of the package's scripts is put in its place.
set -eu
folder=$1 old=$2 new=$3 port=$4 config=$5
root=$folder/root

fail() {
    echo "not so: $*" >&2
    exit 1
}

make_root() {
    mount -t tmpfs tmpfs "$folder"
    mkdir "$folder/upper" "$folder/work" "$root"
    mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$root"
    mount --bind /dev "$root/dev"
    mount --bind /proc "$root/proc"
    mkdir -p "$root/run/systemd/system" "$root/packages"
    cp "$old" "$root/packages/old.deb"
    cp "$new" "$root/packages/new.deb"
    cat >"$root/usr/local/bin/systemctl" <<'STUB'
#!/bin/sh
case "$*" in
    *is-active*) kill -0 "$(cat /run/headgate.pid)" ;;
    *--signal=SIGUSR2*) kill -USR2 "$(cat /run/headgate.pid)" ;;
esac
STUB
    chmod +x "$root/usr/local/bin/systemctl"
}

inside() { chroot "$root" env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

package() { inside env DEBIAN_FRONTEND=noninteractive dpkg --force-confold "$@" >&2; }

# Starts the gateway as the unit does: by its name, as the user of the package.
start() {
    mkdir -p "$root/var/lib/headgate"
    inside chown headgate /var/lib/headgate
    inside setpriv --reuid headgate --regid headgate --clear-groups sh -c \
        'echo $$ >/tmp/headgate.pid; cd /var/lib/headgate; exec headgate run --config /etc/headgate/routes.yaml' \
        >"$folder/log" 2>&1 &
    for _ in $(seq 300); do
        if curl -s -o "$folder/none" "http://127.0.0.1:$port/"; then break; fi
        sleep 0.1
    done
    mv "$root/tmp/headgate.pid" "$root/run/headgate.pid"
}

# One request after the other until the file `over` is there; prints how many there were and how many failed.
load() {
    good=0 bad=0
    while [ ! -e "$folder/over" ]; do
        if curl -s -f -o "$folder/answer" -H 'authorization: Bearer sk-demo' -H 'content-type: application/json' \
            -d '{"model":"m","messages":[{"role":"user","content":"Hello"}]}' "http://127.0.0.1:$port/v1/chat/completions"; then
            good=$((good + 1))
        else
            bad=$((bad + 1))
        fi
    done
    echo "$good answered, $bad failed"
}

make_root
package --install /packages/old.deb
[ "$(inside stat -c '%a %U %G' /etc/headgate/routes.yaml)" = "640 root headgate" ] || fail "keys are private to the service"
for file in man/man1/headgate.1.gz man/man1/headgate-check.1.gz bash-completion/completions/headgate \
    fish/vendor_completions.d/headgate.fish zsh/vendor-completions/_headgate; do
    [ -s "$root/usr/share/$file" ] || fail "the package has $file"
done
inside env OPENAI_API_KEY=sk-0123456789 headgate check --config /etc/headgate/routes.yaml >&2 ||
    fail "the configuration of the package is valid"
cat "$config" >"$root/etc/headgate/routes.yaml"
start
trap 'kill $(inside pidof headgate) 2>/dev/null || true' EXIT
load >"$folder/load" &
loading=$!
sleep 1
before=$(cat "$root/run/headgate.pid")
package --install /packages/new.deb
for _ in $(seq 300); do
    if ! kill -0 "$before" 2>/dev/null; then break; fi
    sleep 0.1
done
if kill -0 "$before" 2>/dev/null; then
    cat "$folder/log" >&2
    fail "the old process has ended after the upgrade"
fi
sleep 1
touch "$folder/over"
wait "$loading"
cat "$folder/load"
cmp "$config" "$root/etc/headgate/routes.yaml" >&2 || fail "an upgrade keeps the configuration"
touch "$root/var/lib/headgate/state"
package --remove headgate
[ ! -e "$root/usr/bin/headgate" ] || fail "the program is removed"
[ ! -e "$root/usr/share/man/man1/headgate.1.gz" ] || fail "the manual pages are removed"
[ -e "$root/etc/headgate/routes.yaml" ] && [ -e "$root/var/lib/headgate/state" ] || fail "a removal keeps the files"
package --purge headgate
[ ! -e "$root/etc/headgate" ] && [ ! -e "$root/var/lib/headgate" ] || fail "a purge removes all files"
