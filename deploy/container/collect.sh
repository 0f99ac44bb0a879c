#!/usr/bin/env bash
# Collects the root of an image: `collect.sh PROGRAM FOLDER` copies the program, the libraries that it links, and the CA
# certificates of this machine, and makes the folders that the gateway writes to.
set -euo pipefail
program=${1:?usage: collect.sh PROGRAM FOLDER}
image=${2:?usage: collect.sh PROGRAM FOLDER}
owner=65532:65532

mkdir -p "$image"/{etc/headgate,etc/ssl/certs,usr/local/bin,data,tmp}
strip --output-file="$image/usr/local/bin/headgate" "$program"
# Lines of ldd: `libc.so.6 => /lib/….so.6 (0x…)`, and the loader's path by itself.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
    install -D --mode=755 "$(realpath "$library")" "$image$library"
done
cp /etc/ssl/certs/ca-certificates.crt "$image/etc/ssl/certs/"
echo "headgate:x:65532:65532::/data:/sbin/nologin" >"$image/etc/passwd"
echo "headgate:x:65532:" >"$image/etc/group"
chmod 1777 "$image/tmp"
chown "$owner" "$image/data"
