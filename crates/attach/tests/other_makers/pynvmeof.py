"""What TrueNAS's host in pure Python does with a drive: discovers, connects, writes, reads, flushes."""

import functools
import os
import sys

import nvmeof_client.client
from nvmeof_client import NVMeoFClient

# It makes a new host identifier for each queue, where all queues of an association must have one (Base 6.3).
connect_data = nvmeof_client.client.pack_fabric_connect_data
nvmeof_client.client.pack_fabric_connect_data = functools.partial(connect_data, host_id=bytes(range(16)))

port, subsystem = int(sys.argv[1]), sys.argv[2]

discovery = NVMeoFClient("127.0.0.1", port=port, timeout=20.0)
discovery.connect()
found = [entry.subsystem_nqn for entry in discovery.get_discovery_entries()]
assert subsystem in found, found
discovery.disconnect()

client = NVMeoFClient("127.0.0.1", subsystem, port=port, timeout=20.0)
client.connect()
assert "Bitline" in client.get_controller_info().model_number
assert 1 in client.list_namespaces()
block = client.get_namespace_info(1).logical_block_size
client.send_keep_alive()
client.setup_io_queues()
# In the capsule, and by R2T.
for blocks in (1, 2, 16):
    data = os.urandom(blocks * block)
    client.write_data(1, 5, data)
    assert client.read_data(1, 5, blocks) == data, f"{blocks} blocks"
client.flush_namespace(1)
assert len(client.get_log_page(2, 512)) == 512
client.disconnect()
print("OK")
