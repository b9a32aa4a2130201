"""Diagnosis: from recorded requests to findings, in the order in which the modules are asked.

- ``engine``: the whole way, stage by stage; ``options`` and ``encoders`` are what it is told
- ``traffic``: prompts encoded and hashed once, replayed through the cache model as often as needed
- ``callsites``, ``sessions``: which requests belong together, and which one each continues
- ``measured``, ``fates``, ``carried``, ``breaks``: every prompt token accounted for (``accounts``)
- ``runs``, ``sections``, ``prompt_map``: where in a prompt its fates are, and which part of it that is
- ``view``: what a rule looks at of one call site
  - slots: ``typed_slots``, ``slots``, ``slot_types``, ``times``, ``same_things``, ``values``, ``words``
  - history: ``edits``, ``changes``, ``media``
  - tools: ``tool_lists``, ``tool_texts``
- ``rules``: one per cause; each gives candidates with ``fixes`` that would remove it
- ``gains``, ``grow``: what the fixes give back, by simulation; ``suspects``: what of it is worth reporting
- ``template_pieces``, ``template_builder``, ``templates``: what prompts of a call site share, and the slots
- ``reorder``, ``if_fixed``: prompts laid out otherwise, simulated
- ``findings``: what a diagnosis is; ``report``: how it is shown
"""

from __future__ import annotations

from keepwarm._progress import Progress
from keepwarm.diagnose.engine import diagnose
from keepwarm.diagnose.options import Options

__all__ = ["Options", "Progress", "diagnose"]
