package annotations

import (
	"reflect"
	"strings"
	"testing"
)

var (
	weight   = Row[int64]{Key: "acme.example/port-*-weight", Doc: "Its share.", Form: Integer{Least: 1, Most: 9}}
	protocol = Row[string]{Key: "acme.example/protocol", Form: OneOf{"tcp", "http", "https"}, Default: "tcp"}
)

func TestValuesOfPortsAreReadByTheirRow(t *testing.T) {
	written := [][2]string{
		{"acme.example/port-80-weight", " 3 "},
		{"acme.example/port-443-weight", ""},
		{"acme.example/port--weight", "x"},
		{"acme.example/port-80-colour", "x"},
	}
	if all, err := weight.Each(written); err != nil || !reflect.DeepEqual(all, []Part[int64]{{Name: "80", Value: 3}}) {
		t.Fatalf("%v %v", all, err)
	}
	if of80, err := weight.At(written, 80); err != nil || of80 == nil || *of80 != 3 {
		t.Fatalf("%v %v", of80, err)
	}
	if of443, err := weight.At(written, 443); err != nil || of443 != nil {
		t.Fatalf("%v %v", of443, err)
	}
	wrong := append(written, [2]string{"acme.example/port-81-weight", "12"})
	want := `annotation acme.example/port-81-weight: "12" is not a whole number from 1 to 9`
	_, each := weight.Each(wrong)
	_, at := weight.At(wrong, 81)
	for _, err := range []error{each, at} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v", err)
		}
	}
}

func TestAnnotationHasItsDefaultWhereNothingIsWritten(t *testing.T) {
	for text, want := range map[string]string{"": "tcp", " ": "tcp", "https": "https"} {
		if got, err := protocol.Get([][2]string{{protocol.Key, text}}); err != nil || *got != want {
			t.Fatalf("%q: %v %v", text, got, err)
		}
	}
	if _, err := protocol.Get([][2]string{{protocol.Key, "udp"}}); err == nil || !strings.HasSuffix(err.Error(), "is not tcp, http or https") {
		t.Fatalf("%v", err)
	}
	if described := protocol.Annotation(); *described.Default != "tcp" || described.Values != "tcp, http or https" {
		t.Fatalf("%v", described)
	}
	if described := weight.Annotation(); described.Default != nil || described.Key != weight.Key {
		t.Fatalf("%v", described)
	}
}
