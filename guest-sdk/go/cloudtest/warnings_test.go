package cloudtest

import (
	"strings"
	"testing"

	"aerostat.dev/sdk/provider"
	"aerostat.dev/sdk/types"
)

func TestEachMistakeInADescriptionHasItsSentence(t *testing.T) {
	api := func(name, url string) provider.Endpoint {
		read := provider.Allow(types.MethodGet, []string{"/a"})
		return provider.Endpoint{Name: name, ExampleBaseURL: url, Allow: []provider.Permission{read}}
	}
	setting := provider.Setting{Name: "region", Doc: "Where."}
	size := provider.Annotation{Key: "acme.example/size", Doc: "How large."}
	for words, change := range map[string]func(*provider.Description){
		"":                           func(*provider.Description) {},
		"\"Acme Cloud\"":             func(it *provider.Description) { it.Name = "Acme Cloud" },
		"no provider id prefix":      func(it *provider.Description) { it.ProviderIDPrefixes = nil },
		"does not end with ://":      func(it *provider.Description) { it.ProviderIDPrefixes = []string{"acme"} },
		"no machine is listed":       func(it *provider.Description) { it.ListPageSize = 0 },
		"GetBatchSize is 0":          func(it *provider.Description) { it.GetBatchSize = 0 },
		"does not begin with https":  func(it *provider.Description) { it.Endpoints[0].ExampleBaseURL = "http://a.example" },
		"endpoint a is there twice":  func(it *provider.Description) { it.Endpoints = append(it.Endpoints, it.Endpoints[0]) },
		"allows nothing":             func(it *provider.Description) { it.Endpoints[0].Allow = nil },
		"Authorization holds a cred": func(it *provider.Description) { it.Endpoints[0].Headers = []string{"Authorization"} },
		"/** allows writes": func(it *provider.Description) {
			it.Endpoints[0].Allow = []provider.Permission{provider.Allow(types.MethodPut, []string{"/**"})}
		},
		"sounds like a secret":       func(it *provider.Description) { it.Settings[0].Name = "apiToken" },
		"setting region has no":      func(it *provider.Description) { it.Settings[0].Doc = "" },
		"region is there twice":      func(it *provider.Description) { it.Settings = append(it.Settings, setting) },
		"has no domain":              func(it *provider.Description) { it.Annotations[0].Key = "size" },
		"size has no sentence":       func(it *provider.Description) { it.Annotations[0].Doc = "" },
		"acme.example/size is there": func(it *provider.Description) { it.Annotations = append(it.Annotations, size) },
	} {
		description := provider.Description{
			Name: "acme", ProviderIDPrefixes: []string{"acme://"}, GetBatchSize: 1, ListPageSize: 10,
			Endpoints: []provider.Endpoint{api("a", "https://a.example")},
			Settings:  []provider.Setting{setting}, Annotations: []provider.Annotation{size},
		}
		change(&description)
		warnings := Warnings(description)
		if words == "" {
			if len(warnings) != 0 {
				t.Error(warnings)
			}
		} else if len(warnings) != 1 || !strings.Contains(warnings[0], words) {
			t.Errorf("%s: %q", words, warnings)
		}
	}
}
