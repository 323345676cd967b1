package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/types"
)

const worker = `{ "id": "worker-1", "running": true, "size": "small", "zone": "north-1", "ip": "10.0.0.7" }`

// cloud answers every request alike, and collects what was asked.
func cloud(t *testing.T, status uint16, body string) *[]string {
	asked := new([]string)
	http.Native.Send = func(request http.Request) (http.Response, error) {
		*asked = append(*asked, fmt.Sprint(request.Method, " /", strings.Join(request.Path, "/"), request.Query))
		return http.Response{Status: status, Body: []byte(body)}, nil
	}
	t.Cleanup(func() { http.Native.Send = nil })
	return asked
}

func TestMachineIsFoundByNameAndByID(t *testing.T) {
	id := "acme://worker-1"
	for _, node := range []types.Node{{Name: "worker-1"}, {Name: "renamed", ProviderID: &id}} {
		asked := cloud(t, 200, worker)
		answer := acme{}.Get([]types.Node{node})[0]
		if answer.Err != nil || *answer.Value.ProviderID != id || *answer.Value.Zone != "north-1" {
			t.Fatalf("%+v", answer)
		}
		if want := []string{"0 /machines/worker-1[]"}; !reflect.DeepEqual(*asked, want) {
			t.Fatal(*asked)
		}
	}
}

func TestOnly404IsNoMachine(t *testing.T) {
	for status, want := range map[uint16]error{
		404: nil,
		400: types.ErrorInvalid("GET /machines/x at endpoint api: 400 so it is"),
		403: types.ErrorDenied("GET /machines/x at endpoint api: 403 so it is"),
		500: types.ErrorUnavailable("GET /machines/x at endpoint api: 500 so it is"),
	} {
		cloud(t, status, `{ "error": { "message": "so it is" } }`)
		if answer := (acme{}).Get([]types.Node{{Name: "x"}})[0]; answer.Err != want || answer.Value != nil {
			t.Fatalf("%d: %+v", status, answer)
		}
	}
}

func TestForeignIDIsInvalid(t *testing.T) {
	id := "aws:///eu/i-1"
	answer := acme{}.Get([]types.Node{{Name: "x", ProviderID: &id}})[0]
	if want := types.ErrorInvalid(`provider id "aws:///eu/i-1" does not begin with acme://`); answer.Err != want {
		t.Fatal(answer.Err)
	}
}

func TestBalancerIsReadBeforeItIsWritten(t *testing.T) {
	port := uint16(30080)
	desired := loadbalancers.LoadBalancer{
		Name:  "a0e2f6f1c",
		Ports: []loadbalancers.Port{{Port: 80, NodePort: &port}},
		Nodes: []types.Node{{Name: "worker-1"}},
	}
	spec, err := specOf(desired)
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(spec)
	if err != nil || string(written) != `{"ports":{"80":30080},"machines":["worker-1"]}` {
		t.Fatal(string(written), err)
	}
	asked := cloud(t, 200, `{ "spec": `+string(written)+`, "ip": "192.0.2.7" }`)
	progress, err := acme{}.Ensure(desired)
	ready, is := progress.(loadbalancers.ProgressReady)
	if err != nil || !is || *ready.Ingress[0].IP != "192.0.2.7" || *ready.Memo != "a0e2f6f1c" {
		t.Fatalf("%+v %v", progress, err)
	}
	if want := []string{"0 /balancers/a0e2f6f1c[]"}; !reflect.DeepEqual(*asked, want) {
		t.Fatal(*asked)
	}
}
