package types

import (
	"errors"
	"fmt"
	"testing"
)

func TestErrorKeepsItsKindWhenItIsWrapped(t *testing.T) {
	for err, want := range map[error]Error{
		errors.New("something"):                    ErrorUnavailable("something"),
		fmt.Errorf("web: %w", ErrorInvalid("no")):  ErrorInvalid("web: no"),
		fmt.Errorf("web: %w", ErrorDenied("no")):   ErrorDenied("web: no"),
		fmt.Errorf("web: %w", RetryAfter(1e9, "")): ErrorRetryAfter{Milliseconds: 1000, Reason: "web: "},
	} {
		if got := AsError(err); got != want {
			t.Fatalf("%v: %#v", err, got)
		}
	}
}

func TestProviderIDIsTakenApart(t *testing.T) {
	for id, want := range map[string]string{"acme://a/b": "a/b", "acme://": "", "aws:///x": ""} {
		if got, err := SplitID("acme://", id); got != want || (err == nil) != (want != "") {
			t.Fatalf("%s: %s %v", id, got, err)
		}
	}
}
