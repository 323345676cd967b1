package backend

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/types"
)

type memoKind uint8

const (
	noMemo memoKind = iota
	// The load balancer with this id is the Service's.
	memoID
	// It is about to be created, by the first call that has this memo and by no other.
	memoCreating
	// The cloud did not say what became of its creation.
	memoLost
)

// memo is what an earlier call asked to keep. The words are those of the SDK for Rust: a provider may change its language.
type memo struct {
	kind memoKind
	id   string
	// In seconds since 1970; each announcement's is another.
	since int64
}

func memoOf(service *loadbalancers.LoadBalancer, isID func(string) bool) (memo, error) {
	if service.Memo == nil {
		return memo{}, nil
	}
	words := strings.Split(*service.Memo, " ")
	if len(words) == 4 && words[1] == service.Name && words[2] == "since" {
		if since, err := strconv.ParseInt(words[3], 10, 64); err == nil && since >= 0 {
			switch words[0] {
			case "creating":
				return memo{kind: memoCreating, since: since}, nil
			case "lost":
				return memo{kind: memoLost, since: since}, nil
			}
		}
	}
	if len(words) == 1 && isID(words[0]) {
		return memo{kind: memoID, id: words[0]}, nil
	}
	// Without its own memo it might create a second load balancer.
	return memo{}, types.Invalidf("the memo %q in the Service's status is not one of this provider", *service.Memo)
}

// announced is the status of a Service with this memo.
func announced(service *loadbalancers.LoadBalancer, kind memoKind, since int64) loadbalancers.LoadBalancerStatus {
	status := service.Status()
	word := "creating"
	if kind == memoLost {
		word = "lost"
	}
	// The name makes the text unique: no two Services share a memo.
	text := fmt.Sprintf("%s %s since %d", word, service.Name, since)
	status.Memo = &text
	return status
}

func now() int64 { return Now().Unix() }

// remaining is how much of a pause that began at since is left, 0 if it is over.
func remaining(since int64, pause time.Duration) time.Duration {
	// A clock that was set back must not make the wait longer than it was.
	passed := max(now()-since, 0)
	return max(pause-time.Duration(passed)*time.Second, 0)
}
