#!/bin/sh
# Makes what a guest boots from what the distribution has: its kernel for clouds, busybox, nvme-cli and e2fsprogs.
# Usage: build.sh FOLDER INIT COMMANDS; leaves FOLDER/vmlinuz and FOLDER/initrd, in which the script INIT finds COMMANDS as /commands.
# Says on stderr what is missing, and exits with 3.
set -eu

folder=$1
init=$2
commands=$3

missing() {
    echo "missing: $*" >&2
    exit 3
}

for program in qemu-system-x86_64 busybox nvme mkfs.ext4 e2fsck cpio depmod dpkg; do
    command -v "$program" >/dev/null || PATH=$PATH:/sbin:/usr/sbin command -v "$program" >/dev/null || missing "$program"
done
PATH=$PATH:/sbin:/usr/sbin
busybox --list | grep -qx modprobe || missing "busybox with modprobe"

mkdir -p "$folder"
cd "$folder"

# The kernel: installed, or fetched as a package and unpacked beside.
kernel=$(ls /boot/vmlinuz-*-cloud-amd64 2>/dev/null | sort -V | tail -n 1 || true)
modules=/lib/modules
if [ -z "$kernel" ]; then
    if ! ls kernel/boot/vmlinuz-*-cloud-amd64 >/dev/null 2>&1; then
        package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
        [ -n "$package" ] || missing "the package linux-image-cloud-amd64"
        apt-get download -q "$package" >&2 || missing "the package $package"
        dpkg -x "$package"_*.deb kernel
        rm -f "$package"_*.deb
    fi
    kernel=$(ls kernel/boot/vmlinuz-*-cloud-amd64 | sort -V | tail -n 1)
    modules=kernel/lib/modules
    [ -d "$modules" ] || modules=kernel/usr/lib/modules
fi
version=${kernel##*/vmlinuz-}
cp "$kernel" vmlinuz

rm -rf root
mkdir -p root/bin root/dev root/proc root/sys root/tmp root/mnt root/etc "root/lib/modules/$version"

# A program with the libraries that it is linked to.
take() {
    cp -L "$1" root/bin/
    ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' | while read -r library; do
        mkdir -p "root$(dirname "$library")"
        [ -e "root$library" ] || cp -L "$library" "root$library"
    done
}
cp -L "$(command -v busybox)" root/bin/busybox
take "$(command -v nvme)"
take "$(command -v mkfs.ext4)"
take "$(command -v e2fsck)"
take "$(command -v busybox)" 2>/dev/null || true

# Modules, and those that they need, of which the kernel's list tells.
list=$modules/$version/modules.dep
[ -e "$list" ] || depmod -b "${modules%/lib/modules}" "$version"
want() {
    line=$(grep -E "/$1\.ko(\.xz|\.zst)?:" "$list" || true)
    # It may be built in.
    [ -n "$line" ] || return 0
    for file in $(echo "$line" | tr -d ':'); do
        mkdir -p "root/lib/modules/$version/$(dirname "$file")"
        cp "$modules/$version/$file" "root/lib/modules/$version/$file"
    done
}
for module in virtio_pci virtio_net nvme-tcp ext4 crc32c_generic crc32c-intel; do
    want "$module"
done
for list in modules.order modules.builtin modules.builtin.modinfo; do
    [ ! -e "$modules/$version/$list" ] || cp "$modules/$version/$list" "root/lib/modules/$version/"
done
find root/lib/modules -name '*.ko.xz' -exec xz -d {} +
depmod -b root "$version"

cp "$init" root/init
cp "$commands" root/commands
chmod +x root/init
(cd root && find . | cpio -o -H newc --quiet) | gzip -1 >initrd
