package main

import (
	"testing"

	"aerostat.dev/sdk/cloudtest"
	"aerostat.dev/sdk/instances"
	"aerostat.dev/sdk/types"

	"newcloud.example/provider/cloud"
)

func TestMachineIsFoundByItsNodesNameAndByItsID(t *testing.T) {
	simulated := cloudtest.Simulate(cloud.New()).Host(t)
	for _, name := range []string{"web-1", "web-2"} {
		simulated.Change(cloudtest.Change{AddMachine: &struct{ Name string }{name}})
	}
	found := newCloud{}.Get([]types.Node{{Name: "web-2"}})[0]
	if found.Err != nil || found.Value == nil || found.Value.Name != "web-2" || found.Value.State != instances.StateRunning {
		t.Fatalf("%+v", found)
	}
	again := newCloud{}.Get([]types.Node{{Name: "renamed", ProviderID: found.Value.ProviderID}})[0]
	if again.Err != nil || again.Value == nil || again.Value.Name != "web-2" {
		t.Fatalf("%+v", again)
	}
	if none := (newCloud{}).Get([]types.Node{{Name: "web-3"}})[0]; none.Err != nil || none.Value != nil {
		t.Fatalf("%+v", none)
	}
}

func TestItsDescriptionHasNoMistakeThatCanBeSeen(t *testing.T) {
	cloudtest.Simulate(cloud.New()).Host(t)
	described, err := newCloud{}.Describe()
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range cloudtest.Warnings(described) {
		t.Error(warning)
	}
}

func TestEveryPromiseIsKeptWhateverIsLostOnTheWay(t *testing.T) {
	for _, broken := range cloudtest.Converge(t, newCloud{}, func() cloudtest.Cloud { return cloud.New() }) {
		t.Error(broken)
	}
}
