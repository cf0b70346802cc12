#!/bin/sh
# Installs augurfs, built with `cargo build --release`, below PREFIX (/usr/local); packages stage it below DESTDIR.
# `install.sh uninstall` removes the same files again, but for /etc/augurfs.conf and what was learned.
#
# mount(8) looks for helpers in /sbin alone, so they go there (MOUNTDIR) whatever PREFIX is. Somebody who may not write
# there, and stages nothing, gets what a user needs: program, manual and completions.
set -eu
case "${1-install}" in
install | uninstall) ;;
*)
    echo "usage: [PREFIX=/usr/local] [DESTDIR=] [MOUNTDIR=/sbin] [SYSCONFDIR=/etc] install.sh [install | uninstall]" >&2
    [ "$1" = --help ] || exit 2
    exit 0
    ;;
esac
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
PREFIX=${PREFIX:-/usr/local}
DESTDIR=${DESTDIR:-}
MOUNTDIR=${MOUNTDIR:-/sbin}
SYSCONFDIR=${SYSCONFDIR:-/etc}
PROGRAM=${PROGRAM:-$here/../target/release/augurfs}
root=$DESTDIR$PREFIX

system=yes
if [ -z "$DESTDIR" ] && ! { mkdir -p "$MOUNTDIR" && [ -w "$MOUNTDIR" ]; } 2>/dev/null; then
    system=no
fi

if [ "${1:-}" = uninstall ]; then
    rm -f "$root/bin/augurfs" "$root"/share/man/man1/augurfs.1 "$root"/share/man/man1/augurfs-*.1 \
        "$root/share/man/man8/mount.augurfs.8" "$root/share/man/man5/augurfs.conf.5" \
        "$root/share/bash-completion/completions/augurfs" "$root/share/zsh/site-functions/_augurfs" \
        "$root/share/fish/vendor_completions.d/augurfs.fish" "$root/lib/systemd/system/augurfs@.service"
    rm -rf "$root/share/doc/augurfs"
    [ $system = no ] || rm -f "$DESTDIR$MOUNTDIR/mount.augurfs" "$DESTDIR$MOUNTDIR/mount.fuse.augurfs"
    if [ -e "$DESTDIR$SYSCONFDIR/augurfs.conf" ]; then
        echo "install.sh: $DESTDIR$SYSCONFDIR/augurfs.conf stays, as what was learned does"
    fi
    exit 0
fi

if [ ! -x "$PROGRAM" ]; then
    echo "install.sh: $PROGRAM is not there: build it first with 'cargo build --release'" >&2
    exit 1
fi

put() { install -D -m "$1" "$2" "$3"; }

put 755 "$PROGRAM" "$root/bin/augurfs"
"$PROGRAM" generate man "$root/share/man"
completions() {
    mkdir -p "$(dirname "$2")"
    "$PROGRAM" generate completions "$1" >"$2"
}
completions bash "$root/share/bash-completion/completions/augurfs"
completions zsh "$root/share/zsh/site-functions/_augurfs"
completions fish "$root/share/fish/vendor_completions.d/augurfs.fish"
for example in systemd/mnt-doc.mount systemd/mnt-doc.automount autofs/auto.augurfs augurfs.conf; do
    put 644 "$here/$example" "$root/share/doc/augurfs/examples/${example##*/}"
done
if [ $system = no ]; then
    echo "install.sh: $MOUNTDIR cannot be written: without the helpers for mount(8), systemd and fstab" >&2
    exit 0
fi
# Who calls these knows nothing of PREFIX.
placed() {
    put "$1" "$2" "$3"
    sed -i -e "s|^PATH=\"|&$PREFIX/bin:|" -e "s|^\(Exec[A-Za-z]*=-*\)augurfs |\1$PREFIX/bin/augurfs |" "$3"
}
placed 755 "$here/mount.augurfs" "$DESTDIR$MOUNTDIR/mount.augurfs"
ln -sf mount.augurfs "$DESTDIR$MOUNTDIR/mount.fuse.augurfs"
placed 644 "$here/systemd/augurfs@.service" "$root/lib/systemd/system/augurfs@.service"
[ -e "$DESTDIR$SYSCONFDIR/augurfs.conf" ] || put 644 "$here/augurfs.conf" "$DESTDIR$SYSCONFDIR/augurfs.conf"
