#!/usr/bin/env bash
# Refuses words that only this project's authors would understand.
#
# The code once had a vocabulary of its own, and a stranger needed a glossary. Now everything is called by the word that Kubernetes and Rust
# engineers have for it. This list keeps the old words out of sources, the contract, pages, manifests and scripts, and out of their paths,
# also as a part of a name: the rule for `old` finds `old`, `an_old_name`, `OldName` and `OLD`.
#
# tests/words.sh [PATH…] checks these paths; without paths, everything.
set -euo pipefail
[ $# -gt 0 ] || cd "$(dirname "$0")/.."

# The old words, as a regular expression, and a better word.
words='
wish(es|ed)?            desired (an object) or spec; "as desired"
essences?               what is compared: Compared, compared_fields
sweep(s|ing)?|swept     instance list, list cache, listed
sights?|glances?        list, check
bury|buried             delete, delete_orphan
heirs?|elders?          owner of the memo, older claimant
ledgers?                account store
tenures?                leadership
lanes?                  state of the endpoint
notices?|remarks?       events, warnings
lean                    trimmed
surroundings            request config
obstacles?              reason, cause
anew                    again
company                 beside, together with
crowds?                 how many of what: many connections, a hundred calls
strangers?              whose: an unknown caller, another account, a foreign node
(?-i:Standing)          LoadBalancerStatus, or what the status is of
(?-i:Told)               state; record_event, report, show
'

checked=$(git ls-files -- "${@:-.}" | grep -E '\.(rs|wit|md|yaml|sh)$' | grep -vE '(^|/)words\.sh$') || exit 0
status=0
while read -r old better; do
    [ -n "$old" ] || continue
    # A word begins and ends at what is no letter, and at the capital letters inside a name.
    whole="(?<![A-Za-z])(?i:$old)(?![a-z])|(?<=[a-z0-9])(?=[A-Z])(?i:$old)(?![a-z])"
    found=$(grep -nHP "$whole" $checked; grep -P "$whole" <<<"$checked") || true
    if [ -n "$found" ]; then
        printf '%s\n    ^ %s: better %s\n\n' "$found" "$old" "$better"
        status=1
    fi
done <<<"$words"
exit "$status"
