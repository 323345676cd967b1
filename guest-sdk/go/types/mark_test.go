package types

import "testing"

func TestMarksAreThoseOfTheSDKForRust(t *testing.T) {
	cluster := Cluster{UID: "c1a5e000-1111-2222-3333-444455556666"}
	const service = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11"
	if mark := Mark(cluster, service); mark != "aerostat:c1a5e000-1111-2222-3333-444455556666:0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11" {
		t.Fatal(mark)
	}
	mark, err := ShortMark(cluster, service)
	if err != nil || mark != "aerostat-5tcrayl4wztnf2-aof5xrzgs6jkhi6cy7nu7w6kqr" {
		t.Fatal(mark, err)
	}
	for _, uid := range []string{"", "uid", "0E2F6F1C-9a5e-4a8e-8f0b-1f6d3f6f2a11"} {
		if mark, err := ShortMark(cluster, uid); err == nil {
			t.Fatal(mark)
		}
	}
}
