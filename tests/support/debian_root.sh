# A Debian of its own in a folder, with the packages of build/release: for scripts that source this, as root.
# $work is theirs, and goes with what they end.

make_root() { # PACKAGES that it has besides the least
    local mirror
    mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' | sed -n 's/^bookworm //p' | sort -u | head -n 1)
    debootstrap --variant=minbase ${1:+--include="$1"} bookworm "$root" "$mirror" >"$work/debootstrap.log" ||
        { tail -n 40 "$work/debootstrap.log"; exit 1; }
    cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/"
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    mount -t proc proc "$root/proc"
}

leave_root() {
    ! mountpoint -q "$root/proc" || umount "$root/proc"
}

inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

install_packages() {
    mkdir "$root/packages"
    (cd build/release && cpack -G DEB -B "$root/packages" >/dev/null)
    inside apt-get -q update
    inside sh -c 'apt-get -q install --yes --no-install-recommends /packages/*.deb'
    inside sh -c 'dpkg --audit && ! ldd /usr/bin/stagewire /usr/bin/stagewired | grep "not found"'
}

[ "$(id -u)" -eq 0 ] || { echo "$0 needs root, to make a root folder of its own"; exit 1; }
work=$(mktemp -d)
root=$work/root
