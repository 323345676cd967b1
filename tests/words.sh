#!/usr/bin/env bash
# Refuses words that only this project's authors would understand.
#
# The code once had a vocabulary of its own, and a stranger needed a glossary. Now everything is called by the word that Kubernetes and Rust
# engineers have for it. This list keeps the old words out of sources, the contract, pages, manifests and scripts, and out of their paths,
# also as a part of a name: the rule for `old` finds `old`, `an_old_name`, `OldName` and `OLD`.
#
# Without paths it also counts a few habits that the sources still have too much of, in the whole workspace, and refuses a page with a
# table that has no head.
#
# tests/words.sh [PATH…] checks these paths; without paths, everything.
set -euo pipefail
everything=
[ $# -gt 0 ] || { cd "$(dirname "$0")/.."; everything=1; }

# The old words, as a regular expression, and a better word.
words='
wish(es|ed)?            desired (an object) or spec; "as desired"
essences?               what is compared: Compared, compared_fields
sweep(s|ing)?|swept     instance list, list cache, listed
sights?|glances|glanced  list, check
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
[ "$everything" ] || exit "$status"

# Refuses more of something than there was. A number only falls: whoever removes some writes the new one here.
at_most() { # MOST WHAT FOUND, one a line
    local count
    count=$(grep -c . <<<"$3") || true
    if [ "$count" -gt "$1" ]; then
        printf '%s\n    ^ %s %s: at most %s\n\n' "$(tail -20 <<<"$3")" "$count" "$2" "$1"
        status=1
    fi
}

sources=$(git ls-files -- '*.rs')

at_most 93 "lines of documentation that begin with What, Who, Whose, Whoever, Of or Nobody, and not with their noun" \
    "$(grep -nHE '^\s*//[/!] (What|Who|Whose|Whoever|Of|Nobody)\b' $sources)"

# Functions named `of_…` that are no tests build or find something "of" their argument.
at_most 0 "names of tests that begin with what, who, whose, whoever, of or nobody, and not with their noun" "$(awk '
    FNR == 1 { attribute = -9 }
    /^ *#\[(tokio::)?test/ { attribute = FNR }
    /fn ([a-z]+_[0-9]+_(and_[0-9]+_)*)*(what|who|whose|whoever|nobody)_/ ||
        /fn ([a-z]+_[0-9]+_(and_[0-9]+_)*)*of_/ && FNR - attribute <= 3 { print FILENAME ":" FNR ":" $0 }' $sources)"

at_most 0 "closures of several lines that call their argument it" \
    "$(grep -nHP '\|(&?mut |&)?it(: [^|]*)?\| (match [^{]*|[A-Z]\w* )?\{$' $sources)"

# Types outside of tests and templates, each once where a file is in two crates by a link, each as "CRATE NAME". Error, Options and Metrics are what they are everywhere.
types=$(awk '
    FNR == 1 { crate = FILENAME; sub(/\/(src|examples)\/.*/, "", crate); in_tests = 0 }
    /^mod [a-z_]+ \{/ { in_tests = 1 }
    !in_tests && match($0, /^ *(pub(\([a-z:]+\))? )?(struct|enum|trait|type) [A-Za-z0-9]+/) {
        name = substr($0, RSTART, RLENGTH); sub(/.* /, "", name)
        if ($0 ~ /^ +type/ || name ~ /^(Error|Options|Metrics)$/) next
        print crate, name
    }' $(grep -vE '^tests/|/tests?\.rs$|/tests/|/templates/' <<<"$sources" | while read -r file; do [ -L "$file" ] || echo "$file"; done) | sort)

at_most 23 "names of types that the workspace has more than once" "$(cut -d' ' -f2 <<<"$types" | sort | uniq -d)"
at_most 0 "names of types that one crate has more than once" "$(uniq -d <<<"$types")"

at_most 20 "places that lock what is remembered of Services" \
    "$(grep -nE '\.states\.[a-z]+\(' $(grep 'controllers/src/service/' <<<"$sources" | grep -vE '/tests(\.rs|/)'))"

tables=$(awk '
    FNR == 1 { before = "" }
    /^\|/ && before !~ /^\|/ { head = FNR }
    /^\|/ && FNR == head + 1 && !/^\|( ?:?-+:? ?\|)+$/ { print FILENAME ":" head ": " before }
    !/^\|/ && before ~ /^\|/ && FNR == head + 1 { print FILENAME ":" head ": " before }
    { before = $0 }' $(git ls-files -- '*.md'))
at_most 0 "tables without a head: a blank line above, or no line of dashes below it" "$tables"
exit "$status"
