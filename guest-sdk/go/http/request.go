package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"aerostat.dev/sdk/types"
)

// Call is a request that was not sent yet. A path is in segments: the host escapes them, and they are below the endpoint's base
// URL, whatever is in them.
type Call struct {
	request Request
	words   []string
	broken  error
}

// Query adds a parameter, unescaped.
func (it *Call) Query(name, value string) *Call {
	it.request.Query = append(it.request.Query, [2]string{name, value})
	return it
}

// Header sets a header: accept, content-type, if-match, if-none-match, idempotency-key, prefer, and what the endpoint adds. Others
// are refused by the host.
func (it *Call) Header(name, value string) *Call {
	name = strings.ToLower(name)
	it.request.Headers = slices.DeleteFunc(it.request.Headers, func(header [2]string) bool { return header[0] == name })
	it.request.Headers = append(it.request.Headers, [2]string{name, value})
	return it
}

// JSON sets the body.
func (it *Call) JSON(body any) *Call {
	bytes, err := json.Marshal(body)
	if err != nil {
		it.broken = types.Invalidf("%s: the body cannot be written: %v", it.asked(), err)
	}
	it.request.Body = BodyBytes(bytes)
	return it.Header("content-type", "application/json")
}

// Form sets the body to names and values in this order, unescaped. Where an endpoint has an operation in its parameters, no other
// body leaves.
func (it *Call) Form(pairs ...[2]string) *Call {
	it.request.Body = BodyForm(pairs)
	return it
}

// Answer sends it, and returns what the cloud answers, whatever its status. An error is that there is no answer.
func (it *Call) Answer() (Response, error) {
	if it.broken != nil {
		return Response{}, it.broken
	}
	response, err := Send(it.request)
	if err != nil {
		return Response{}, it.unanswered(err)
	}
	return response, nil
}

func (it *Call) unanswered(err error) error {
	var denied ErrorDenied
	var pause ErrorRetryAfter
	asked := it.asked()
	switch {
	case errors.As(err, &denied):
		return types.Deniedf("%s: %v", asked, err)
	case errors.As(err, &pause):
		return types.RetryAfter(time.Duration(pause)*time.Millisecond, fmt.Sprintf("%s: %v", asked, err))
	default:
		return types.Unavailablef("%s: %v", asked, err)
	}
}

// Into sends it, and reads the answer into a value as JSON; nil reads nothing. Every status but 2xx is an error, sorted by what the
// host does next.
func (it *Call) Into(value any) error {
	response, err := it.Answer()
	if err != nil {
		return err
	}
	return it.read(response, value)
}

// Find is Into for what may not be there: false is that the cloud answers 404, and nothing else.
func (it *Call) Find(value any) (bool, error) {
	response, err := it.Answer()
	if err != nil || response.Status == 404 {
		return false, err
	}
	return true, it.read(response, value)
}

// Gone sends a deletion: what is not there was deleted before.
func (it *Call) Gone() error {
	response, err := it.Answer()
	if err != nil || response.Status == 404 || response.Status == 410 {
		return err
	}
	return it.read(response, nil)
}

// Get is the value of a header, whose name is in lower case.
func (it Response) Get(name string) string {
	for _, header := range it.Headers {
		if header[0] == name {
			return header[1]
		}
	}
	return ""
}

func (it *Call) read(response Response, value any) error {
	complaint := func() string { return it.complaint(response) }
	switch status := response.Status; {
	case status >= 200 && status < 300:
	case status == 400 || status == 422:
		return types.ErrorInvalid(complaint())
	case status == 401 || status == 403:
		return types.ErrorDenied(complaint())
	case status == 429 || status == 503:
		if seconds, err := strconv.ParseUint(strings.TrimSpace(response.Get("retry-after")), 10, 32); err == nil {
			return types.RetryAfter(time.Duration(seconds)*time.Second, complaint())
		}
		fallthrough
	default:
		return types.ErrorUnavailable(complaint())
	}
	if value == nil {
		return nil
	}
	if err := json.Unmarshal(response.Body, value); err != nil {
		return types.Unavailablef("%s: %d with an answer that cannot be read: %v", it.asked(), response.Status, err)
	}
	return nil
}

// asked names the request in errors: method and path, and never a host.
func (it *Call) asked() string {
	methods := [...]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	return fmt.Sprintf("%s /%s at endpoint %s", methods[it.request.Method], strings.Join(it.request.Path, "/"), it.request.Endpoint)
}
