"""Every kind of platform document, by name. A new kind is one module here and one line below."""

from collections.abc import Mapping

from trainwright.spec.kinds import alias_policy, cohort, namespace, pool, priority_class, queue, release_target
from trainwright.spec.kinds.kind import Kind

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        alias_policy.KIND,
        cohort.KIND,
        namespace.KIND,
        pool.KIND,
        priority_class.KIND,
        queue.KIND,
        release_target.KIND,
    )
}
