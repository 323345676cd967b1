package main

import (
	"fmt"
	"reflect"

	"k8s.io/cloud-provider-gcp/providers/gce"
)

// printKeys writes the keys of gce.conf that the package reads, one a line: as keys.txt has them.
func printKeys() {
	of := reflect.TypeOf(gce.ConfigGlobal{})
	for i := range of.NumField() {
		fmt.Println(of.Field(i).Tag.Get("gcfg"))
	}
}
