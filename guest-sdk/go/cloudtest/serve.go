package cloudtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	web "net/http"
	"net/url"
	"slices"
	"strings"

	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/types"
)

// mostBytes is the largest request.
const mostBytes = 1 << 20

// Serve serves a cloud on this port of loopback, or on a free one with 0, and prints its URL: its own API under its base path, and beside it
// the three routes by which aerostat provider conformance orders what goes wrong. It ends with the process.
func Serve(cloud Cloud, port uint16) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	return web.Serve(listener, Handler(cloud))
}

// Handler answers as a cloud that is served.
func Handler(cloud Cloud) web.Handler {
	return handler{Simulate(cloud)}
}

type handler struct{ *Simulated }

func (it handler) ServeHTTP(answer web.ResponseWriter, asked *web.Request) {
	body, err := io.ReadAll(io.LimitReader(asked.Body, mostBytes))
	if err != nil {
		panic(web.ErrAbortHandler)
	}
	it.lock.Lock()
	defer it.lock.Unlock()
	var response http.Response
	switch asked.Method + " " + asked.URL.Path {
	case "GET /conformance/world":
		setup := map[string]any{"settings": it.cloud.FastSettings()}
		response = Reply(200, map[string]any{"setup": setup, "objects": it.cloud.Objects()})
	case "GET /conformance/requests":
		requests, isDead := it.Asked()
		response = Reply(200, map[string]any{"requests": append([]Arrived{}, requests...), "dead": isDead})
	case "POST /conformance/requests":
		var orders Orders
		if err := json.Unmarshal(body, &orders); err != nil {
			response = Reply(400, map[string]string{"error": err.Error()})
			break
		}
		it.Order(orders)
		response = Reply(200, struct{}{})
	case "POST /conformance/change":
		response = it.changed(body)
	default:
		request, is := read(it.cloud.BasePath(), asked, body)
		if !is {
			response = Reply(404, map[string]string{"error": "there is nothing under this path"})
			break
		}
		if response, err = it.Send(request); err != nil {
			// Lost: the connection ends without an answer.
			panic(web.ErrAbortHandler)
		}
	}
	// A request on a connection that was used before would be sent again when that ends.
	answer.Header().Set("connection", "close")
	for _, header := range response.Headers {
		answer.Header().Set(header[0], header[1])
	}
	if len(response.Body) > 0 {
		answer.Header().Set("content-type", "application/json")
	}
	answer.WriteHeader(int(response.Status))
	_, _ = answer.Write(response.Body)
}

func (it handler) changed(body []byte) http.Response {
	var change Change
	if err := json.Unmarshal(body, &change); err != nil {
		return Reply(400, map[string]string{"error": err.Error()})
	}
	changed, can := it.Change(change)
	if !can {
		return Reply(501, map[string]string{"error": "this cloud cannot"})
	}
	return Reply(200, changed)
}

// read is the request as the provider has made it.
func read(base string, asked *web.Request, body []byte) (http.Request, bool) {
	path, isOurs := strings.CutPrefix(asked.URL.EscapedPath(), base+"/")
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	method := slices.Index(methods, asked.Method)
	if !isOurs || method < 0 {
		return http.Request{}, false
	}
	request := http.Request{Endpoint: "api", Method: types.Method(method)}
	for _, segment := range strings.Split(path, "/") {
		unescaped, err := url.PathUnescape(segment)
		if err != nil {
			return http.Request{}, false
		}
		request.Path = append(request.Path, unescaped)
	}
	for _, pair := range strings.FieldsFunc(asked.URL.RawQuery, func(it rune) bool { return it == '&' }) {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return http.Request{}, false
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return http.Request{}, false
		}
		request.Query = append(request.Query, [2]string{name, value})
	}
	if len(body) > 0 {
		request.Body = http.BodyBytes(body)
	}
	return request, true
}
