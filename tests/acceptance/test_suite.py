"""The suite itself: the reference passes it whole, and each guard taken away fails exactly the tests named for it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.acceptance.cases import CASES
from tests.acceptance.leaky import GUARDS, Leaky

NAMED: Mapping[str, frozenset[str]] = {
    "scope": frozenset(
        {"scope.cross_tenant_absent", "scope.caller_cannot_widen", "scope.background_respects_boundary"}
    ),
    "address": frozenset({"scope.caller_cannot_widen"}),
    "derived-scope": frozenset({"scope.cross_tenant_absent", "scope.background_respects_boundary"}),
    "evidence": frozenset({"evidence.claim_resolves_to_source"}),
    "erase-derived": frozenset({"evidence.source_delete_reaches_derived"}),
    "rebuild": frozenset(
        {
            "evidence.rebuild_from_retained",
            "correction.survives_reindex",
            "deletion.absent_after_reindex_and_restart",
        }
    ),
    "every-door": frozenset(
        {
            "gate.no_bypass_path",
            "tombstone.laundering_sequence",
            "tombstone.survives_ttl_and_prune",
            "tombstone.reextraction_stays_inactive",
            "tombstone.no_second_memory_unit",
            "deletion.absent_from_shared_copies",
        }
    ),
    "authority": frozenset({"scope.caller_cannot_widen", "gate.model_cannot_claim_human_authority"}),
    "tombstone": frozenset(
        {
            "gate.no_bypass_path",
            "tombstone.laundering_sequence",
            "tombstone.survives_ttl_and_prune",
            "tombstone.key_normalization_attack",
            "tombstone.reextraction_stays_inactive",
            "tombstone.no_second_memory_unit",
        }
    ),
    "tombstone-kept": frozenset({"tombstone.survives_ttl_and_prune"}),
    "canonical": frozenset({"tombstone.key_normalization_attack"}),
    "again": frozenset({"tombstone.reextraction_stays_inactive", "correction.retraction_without_replacement"}),
    "one-unit": frozenset({"tombstone.no_second_memory_unit"}),
    "edit-holds": frozenset({"correction.survives_reindex"}),
    "forget-lasts": frozenset({"deletion.absent_after_reindex_and_restart"}),
    "forget-copies": frozenset({"deletion.absent_from_shared_copies"}),
    "k": frozenset({"recall.k_is_an_upper_bound"}),
    "fence": frozenset({"recall.fenced_as_data"}),
    "notice": frozenset({"recall.embedded_instructions"}),
}


def failed(*off: str) -> frozenset[str]:
    found = set()
    for name, test in CASES.items():
        try:
            test(Leaky(*off))
        except AssertionError:
            found.add(name)
    return frozenset(found)


def test_the_twenty_are_there_and_each_is_named_for_a_guard() -> None:
    assert len(CASES) == 20
    assert frozenset().union(*NAMED.values()) == CASES.keys()


def test_the_reference_passes_everything() -> None:
    assert failed() == frozenset()


@pytest.mark.parametrize("guard", GUARDS)
def test_without_a_guard_exactly_the_tests_named_for_it_fail(guard: str) -> None:
    assert failed(guard) == NAMED[guard]
