package types

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Result is an answer about one of several things that were asked about, or why there is none.
type Result[T any] struct {
	// Value is the answer, if Err is nil.
	Value T
	// Err is one of the contract's errors; any other counts as ErrorUnavailable.
	Err error
}

// Error is the text for a person.
func (it ErrorInvalid) Error() string { return string(it) }

// Error is the text for a person.
func (it ErrorDenied) Error() string { return string(it) }

// Error is the text for a person.
func (it ErrorRetryAfter) Error() string { return it.Reason }

// Error is the text for a person.
func (it ErrorUnavailable) Error() string { return string(it) }

// Invalidf is an error about what cannot be meant: a setting, an annotation, an id. The host shows it, and tries again when the
// object changes and every few minutes.
func Invalidf(format string, arguments ...any) error {
	return ErrorInvalid(fmt.Sprintf(format, arguments...))
}

// Deniedf is an error about what the cloud refuses. It is tried again as soon as the credential changes, too.
func Deniedf(format string, arguments ...any) error {
	return ErrorDenied(fmt.Sprintf(format, arguments...))
}

// Unavailablef is an error about anything that may work later without a change.
func Unavailablef(format string, arguments ...any) error {
	return ErrorUnavailable(fmt.Sprintf(format, arguments...))
}

// RetryAfter is an error with the cloud's own word for when to come back.
func RetryAfter(pause time.Duration, reason string) error {
	return ErrorRetryAfter(PauseOf(pause, reason))
}

// PauseOf is a pause of this length.
func PauseOf(pause time.Duration, reason string) Pause {
	milliseconds := min(max(pause.Milliseconds(), 0), math.MaxUint32)
	return Pause{Milliseconds: uint32(milliseconds), Reason: reason}
}

// AsError is the error as the host takes it. An error that wraps one of the contract's keeps its kind, with all of its text.
func AsError(err error) Error {
	var own Error
	if !errors.As(err, &own) {
		return ErrorUnavailable(err.Error())
	}
	switch it := own.(type) {
	case ErrorInvalid:
		return ErrorInvalid(err.Error())
	case ErrorDenied:
		return ErrorDenied(err.Error())
	case ErrorRetryAfter:
		it.Reason = err.Error()
		return it
	default:
		return ErrorUnavailable(err.Error())
	}
}
