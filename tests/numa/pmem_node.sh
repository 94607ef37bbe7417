# In the guest: persistent memory as plain capacity. The NVDIMM becomes device-dax, then memory of node 4, by the
# kernel's kmem driver. Prints nothing if all is well.
set -e
ndctl create-namespace -f -e namespace0.0 -m devdax >/tmp/ndctl.log 2>&1 || { cat /tmp/ndctl.log; exit 1; }
device=$(ls /sys/bus/dax/devices | head -1)
cd /sys/bus/dax/drivers
[ ! -e device_dax/$device ] || echo $device >device_dax/unbind
[ -e kmem/$device ] || echo $device >kmem/new_id
for block in /sys/devices/system/node/node4/memory*; do
  [ "$(cat $block/state)" = online ] || echo online_movable >$block/state
done
grep -q 'MemTotal: *[1-9]' /sys/devices/system/node/node4/meminfo
