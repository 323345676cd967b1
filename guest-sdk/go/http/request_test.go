package http

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"aerostat.dev/sdk/types"
)

func answers(t *testing.T, response Response, err error) *Request {
	seen := new(Request)
	Native.Send = func(request Request) (Response, error) {
		*seen = request
		return response, err
	}
	t.Cleanup(func() { Native.Send = nil })
	return seen
}

func TestRequestCarriesWhatWasSaid(t *testing.T) {
	seen := answers(t, Response{Status: 204}, nil)
	call := Post("api", "a b", "c").Query("q", "1").Header("If-Match", "x").Header("if-match", "y").JSON(map[string]int{"n": 1})
	if err := call.Into(nil); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%d %s %q %q %q %s", seen.Method, seen.Endpoint, seen.Path, seen.Query, seen.Headers, seen.Body)
	if want := `2 api ["a b" "c"] [["q" "1"]] [["if-match" "y"] ["content-type" "application/json"]] {"n":1}`; got != want {
		t.Fatal(got)
	}
}

func TestRequestWithoutAnswerKeepsItsKind(t *testing.T) {
	for err, want := range map[error]error{
		ErrorDenied("E-1: no"):      types.ErrorDenied("GET / at endpoint api: E-1: no"),
		ErrorUnreachable("refused"): types.ErrorUnavailable("GET / at endpoint api: not sent: refused"),
		ErrorInterrupted("cut off"): types.ErrorUnavailable("GET / at endpoint api: perhaps carried out: cut off"),
		ErrorRetryAfter(1500):       types.RetryAfter(1500*time.Millisecond, "GET / at endpoint api: not sent for 1500 ms"),
	} {
		answers(t, Response{}, err)
		if _, got := Get("api").Find(nil); got != want {
			t.Fatalf("%v: %v", err, got)
		}
	}
}

func TestPauseOfTheCloudIsPassedOn(t *testing.T) {
	answers(t, Response{Status: 429, Headers: [][2]string{{"retry-after", "7"}}}, nil)
	err := Get("api").Into(nil)
	if want := types.RetryAfter(7*time.Second, "GET / at endpoint api: 429"); err != want {
		t.Fatal(err)
	}
}

func TestAnswerThatCannotBeReadIsUnavailable(t *testing.T) {
	answers(t, Response{Status: 200, Body: []byte("<html>")}, nil)
	var value struct{}
	found, err := Get("api").Find(&value)
	var unavailable types.ErrorUnavailable
	if !errors.As(err, &unavailable) {
		t.Fatal(found, err)
	}
}

func TestDeletionOfWhatIsGoneSucceeds(t *testing.T) {
	for _, status := range []uint16{204, 404, 410} {
		answers(t, Response{Status: status}, nil)
		if err := Delete("api", "x").Gone(); err != nil {
			t.Fatal(err)
		}
	}
}
