# In the guest: pools on a device that records every write and flush (dm-log-writes), under a file system of its own. Then
# every cut: at each flush, what was not flushed yet is there or not, sector by sector by a seed ($1, $2, ...); the file
# system is mounted, and the pool must hold what was there after a transaction, none older than the last that was
# complete. With a promise that ends with the process the same must find states that are wrong.
set -e
mib=32
mkdir -p /etc /mnt
truncate -s 256M /tmp/log
truncate -s ${mib}M /tmp/device
device=$(losetup -f); losetup $device /tmp/device
log=$(losetup -f); losetup $log /tmp/log

cat >/tmp/look <<'LOOK'
cp /tmp/replayed /tmp/copy
mount -o loop,noatime /tmp/copy /mnt || { echo "does not mount"; exit 1; }
pool_subject check /mnt/pool $1 >/tmp/found 2>&1 || { cat /tmp/found; umount /mnt; exit 1; }
umount /mnt
LOOK

record() {  # a pool of the promise $1, up to transaction $2
  dmsetup create --noudevsync logged --table "0 $((mib * 2048)) log-writes $device $log"
  dmsetup mknodes logged
  mkfs.ext4 -q -F -b 4096 /dev/mapper/logged
  mount -t ext4 -o noatime /dev/mapper/logged /mnt
  sync
  dmsetup message logged 0 mark 0
  pool_subject write /mnt/pool $2 logged $1 >/tmp/said || { cat /tmp/said; exit 1; }
  umount /mnt
  dmsetup remove --noudevsync logged
}
replay() {  # by a seed
  rm -f /tmp/replayed
  truncate -s ${mib}M /tmp/replayed
  pool_subject replay /tmp/log /tmp/replayed $1 sh /tmp/look
}

record machine 16
for seed in $*; do replay $seed; done
record process 4
if replay 1; then echo "nothing wrong was found where nothing was flushed"; exit 1; fi
