package http

import "fmt"

// Error is the text for a person.
func (it ErrorDenied) Error() string { return string(it) }

// Error is the text for a person.
func (it ErrorRetryAfter) Error() string { return fmt.Sprintf("not sent for %d ms", uint32(it)) }

// Error is the text for a person.
func (it ErrorUnreachable) Error() string { return "not sent: " + string(it) }

// Error is the text for a person.
func (it ErrorInterrupted) Error() string { return "perhaps carried out: " + string(it) }
