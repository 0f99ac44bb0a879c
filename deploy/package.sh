#!/usr/bin/env bash
# Makes the Debian package of a built program with dpkg-deb: `deploy/package.sh [PROGRAM [VERSION FILE [OPTIONS OF
# DPKG-DEB]]]`. The default program is target/dist/headgate, the default file
# target/debian/headgate_VERSION_ARCHITECTURE.deb with the version of Cargo.toml. The manual pages and the completions are
# those that the program prints; what else belongs to the package is in deploy/debian. Needs dpkg and binutils, which
# every Debian has that can build the program.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-target/dist/headgate}
architecture=$(dpkg --print-architecture)
version=${2:-$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)-1}
package=${3:-target/debian/headgate_${version}_$architecture.deb}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

# The packages of the libraries that the program is linked to. That of the C library has to define its newest symbol.
libraries() {
    local library packages=()
    for library in $(objdump -p "$program" | awk '$1 == "NEEDED" { print $2 }'); do
        case $library in
            libc.so.* | libm.so.* | ld-linux*) ;;
            libgcc_s.so.1) packages+=(libgcc-s1) ;;
            *) echo "package.sh: $library is in no package that this script knows" >&2; return 1 ;;
        esac
    done
    packages+=("libc6 (>= $(objdump -p "$program" | sed -n 's/.* GLIBC_\([0-9.]*\)$/\1/p' | sort -V | tail -n 1))")
    printf '%s, ' "${packages[@]}"
}

install_files() {
    local pages=$root/usr/share/man/man1 share=$root/usr/share
    install -D -m 755 --strip "$program" "$root/usr/bin/headgate"
    install -D -m 640 -t "$root/etc/headgate" deploy/debian/routes.yaml deploy/debian/environment
    install -D -m 644 -t "$root/usr/lib/systemd/system" deploy/headgate.service
    install -D -m 644 -t "$share/doc/headgate" deploy/prometheus/headgate.rules.yaml deploy/grafana/headgate.json \
        deploy/debian/copyright
    mkdir -p "$pages" "$share/bash-completion/completions" "$share/fish/vendor_completions.d" "$share/zsh/vendor-completions"
    "$program" man --to "$pages"
    gzip -9 --no-name "$pages"/*
    "$program" completions bash >"$share/bash-completion/completions/headgate"
    "$program" completions fish >"$share/fish/vendor_completions.d/headgate.fish"
    "$program" completions zsh >"$share/zsh/vendor-completions/_headgate"
}

# The files that only dpkg reads: the fields, the list of files that are the operator's, the scripts.
describe() {
    local size depends
    size=$(du --summarize --apparent-size --block-size=1024 "$root" | cut -f 1)
    depends=$(libraries)
    mkdir "$root/DEBIAN"
    sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" -e "s/@LIBRARIES@, /$depends/" \
        deploy/debian/control >"$root/DEBIAN/control"
    install -m 644 -t "$root/DEBIAN" deploy/debian/conffiles
    install -m 755 -t "$root/DEBIAN" deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm
}

umask 022
install_files
describe
mkdir -p "$(dirname "$package")"
dpkg-deb --root-owner-group "${@:4}" --build "$root" "$package" >/dev/null
echo "$package"
