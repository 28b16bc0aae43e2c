"""kube-scheduler's filters over the whole capacity of nodes: which nodes can ever run a pod, and why others cannot.

It knows pods and nodes, and no custom resource. What other pods use is never counted: it changes. A value of a wrong
type, or beyond what is known, makes the pod or the node unknown (None); nothing here raises for it.
"""

from webhook.placement.amounts import UnknownAmountError, amount, requests_of, shown
from webhook.placement.filters import Stage, Unfit, failure, named_nodes
from webhook.placement.nodes import NodeShape
from webhook.placement.pod import Needs, Toleration, needs_of
from webhook.placement.table import MOST_SHAPES, NodeTable, Shapes, table_of
