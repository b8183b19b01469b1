"""A Ray cluster of two nodes on this machine, as a process: says its address, loses its second node when told to."""

import sys

from ray.cluster_utils import Cluster

MEMORY = 80_000_000  # bytes, the least that Ray takes

cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "object_store_memory": MEMORY}
)
second = cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
sys.stdout.write(f"{cluster.address}\n")
sys.stdout.flush()
for _ in sys.stdin:
    cluster.remove_node(second, allow_graceful=False)
    sys.stdout.write("lost\n")
    sys.stdout.flush()
cluster.shutdown()
