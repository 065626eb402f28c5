"""What was added to fingerprints and plans in time leaves the digests of those that have nothing of it as they were."""

from dataclasses import replace
from typing import Any

import pytest

from build import fingerprint, plan, step
from trainwright.core.codec import digest_of, from_json, to_json
from trainwright.core.fingerprint import CodeState, Fingerprint, Submodule
from trainwright.core.reproduction import Tolerance
from trainwright.plan.plan import Plan

PLAN = plan(step("a"))
ADDED: dict[str, Any] = {
    "submodules": {"libs/x": Submodule("c")},
    "shallow": True,
    "pointers": ("a.bin",),
    "dangling": ("link",),
}


def test_a_fingerprint_keeps_its_address() -> None:
    made = fingerprint(PLAN)
    plain = to_json(made)
    for name in ADDED:
        del plain["code"][name]
    for name in ("records", "editable", "locks"):
        del plain["environment"][name]
    del plain["taken_over"]
    assert made.digest == digest_of(plain)
    assert from_json(Fingerprint, plain) == made


@pytest.mark.parametrize("name", ADDED)
def test_code_that_has_some_of_it_is_other_code(name: str) -> None:
    made = fingerprint(PLAN)
    other = replace(made, code=replace(made.code, **{name: ADDED[name]}))
    assert other.digest != made.digest
    assert from_json(CodeState, to_json(other.code)) == other.code


def test_a_plan_keeps_its_digest_and_one_with_a_tolerance_has_another() -> None:
    plain = to_json(PLAN)
    for seldom in ("tolerance", "gangs", "scheduling"):
        del plain[seldom]
    assert PLAN.digest == digest_of(plain)
    assert from_json(Plan, plain) == PLAN
    tolerant = replace(PLAN, tolerance={"auc": Tolerance(0.01, relative=True)})
    assert tolerant.digest != PLAN.digest
    assert from_json(Plan, to_json(tolerant)) == tolerant
